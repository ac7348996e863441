"""Jobs as the real controllers of Trainer v2 and JobSet build them."""

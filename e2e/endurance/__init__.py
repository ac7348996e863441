"""Long runs, faults and kills: nothing is lost and nothing is left."""

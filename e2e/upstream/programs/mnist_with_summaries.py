"""`mnist_with_summaries.py --log_dir=FOLDER --learning_rate=R --batch_size=N`: name and options of upstream's program.

A network of Keras learns ten figures, which are made up: nothing is downloaded. It fails if it has not learnt them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import keras
import numpy as np

FIGURES = 10
SAMPLES = 3000


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures, and which figure each of them shows."""
    draw = np.random.default_rng(0)
    figures = draw.normal(size=(FIGURES, 28, 28))
    shown = draw.integers(FIGURES, size=SAMPLES)
    return (figures[shown] + draw.normal(size=(SAMPLES, 28, 28))).astype(np.float32), shown


def main() -> int:
    """Train with summaries; the exit status is 1 if the figures are not known in the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--log_dir", type=Path, required=True)
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--batch_size", type=int, required=True)
    options = parser.parse_args()
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(32, "relu"), keras.layers.Dense(FIGURES)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss, metrics=["accuracy"])
    summaries = keras.callbacks.CSVLogger(options.log_dir / "summaries.csv")
    options.log_dir.mkdir(parents=True)
    history = model.fit(*samples(), options.batch_size, epochs=3, verbose=2, callbacks=[summaries]).history
    print(f"loss fell from {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}", flush=True)
    return 0 if history["accuracy"][-1] > 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())

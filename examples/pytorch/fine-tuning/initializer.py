"""In the place of the image storage-initializer: makes a small model and a data set, without a hub.

The texts are pieces of the help that ships with Python; which topic a piece is from is its label.
"""

import argparse
import json
import random
from pathlib import Path
from pydoc_data.topics import topics

import torch
from model import Classifier

TRIPLES, WIDTH, PIECE, PIECES = 4096, 64, 80, 64


def make_model(folder, labels):
    """A model drawn from a seed, with the settings that it is made from."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"triples": TRIPLES, "width": WIDTH, "labels": labels}
    (folder / "config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    torch.save(Classifier(**settings).state_dict(), folder / "weights.pt")


def make_dataset(folder, labels):
    """So many pieces of each of the longest topics, one as a line of JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    longest = sorted(topics, key=lambda name: -len(topics[name]))[:labels]
    pieces = [
        {"text": topics[name][at * PIECE : (at + 1) * PIECE], "label": label}
        for label, name in enumerate(longest)
        for at in range(PIECES)
    ]
    random.Random(0).shuffle(pieces)
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(piece)}\n" for piece in pieces))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    for name in ("model", "dataset"):
        parser.add_argument(f"--{name}_provider", required=True)
        parser.add_argument(f"--{name}_provider_parameters", type=json.loads, required=True)
    asked = parser.parse_args()
    labels = asked.model_provider_parameters["num_labels"] or 2
    make_model(asked.folder / "model", labels)
    make_dataset(asked.folder / "dataset", labels)
    dataset = asked.dataset_provider_parameters.get("repo_id") or asked.dataset_provider_parameters["file_key"]
    print(f"made what stands for {asked.model_provider_parameters['model_uri']} and {dataset}")


if __name__ == "__main__":
    main()

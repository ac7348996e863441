"""In the place of the image trainer-huggingface: fine-tunes the model as the SDK asks, by torchrun."""

import argparse
import hashlib
import json
import socket
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from model import Adapted, Classifier, encoded
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments():
    """What `train()` sends; the type of a transformer means nothing to this model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_uri", required=True)
    parser.add_argument("--transformer_type", required=True)
    parser.add_argument("--num_labels")
    for name in ("model_dir", "dataset_dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("lora_config", "training_parameters"):
        parser.add_argument(f"--{name}", type=json.loads, required=True)
    return parser.parse_args()


def main():
    asked = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    settings = json.loads((asked.model_dir / "config.json").read_text())
    model = Classifier(**settings)
    model.load_state_dict(torch.load(asked.model_dir / "weights.pt"))
    torch.manual_seed(0)  # of the adapter, which all ranks begin with
    model.embedding.requires_grad_(False)
    model.inner = Adapted(model.inner, asked.lora_config["r"], asked.lora_config["lora_alpha"])
    trained = [each for each in model.parameters() if each.requires_grad]

    lines = (asked.dataset_dir / "train.jsonl").read_text().splitlines()
    mine = [json.loads(line) for line in lines[rank::world_size]]
    told = asked.training_parameters
    size = told.get("per_device_train_batch_size", 8)
    parallel, losses = DistributedDataParallel(model), []
    optimizer = torch.optim.AdamW(trained, told.get("learning_rate", 5e-5))
    for epoch in range(1, int(told["num_train_epochs"]) + 1):
        total = torch.zeros(1)
        for begin in range(0, len(mine) - size + 1, size):
            batch = mine[begin : begin + size]
            optimizer.zero_grad()
            guesses = parallel(*encoded([piece["text"] for piece in batch], settings["triples"]))
            loss = nn.functional.cross_entropy(guesses, torch.tensor([piece["label"] for piece in batch]))
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        losses.append(float(total) / world_size / (len(mine) // size))
        print(f"Epoch {epoch}/{int(told['num_train_epochs'])} loss {losses[-1]:.4f}", flush=True)

    weights = torch.cat([each.detach().flatten() for each in trained])
    if rank == 0:
        output = Path(told["output_dir"])
        output.mkdir(parents=True, exist_ok=True)
        torch.save(
            {name: each for name, each in model.state_dict().items() if "layer" not in name}, output / "adapter.pt"
        )
    report = {"rank": rank, "worldSize": world_size, "host": socket.gethostname(), "trained": len(weights)}
    report |= {"firstLoss": losses[0], "lastLoss": losses[-1]}
    report |= {"weights": hashlib.sha256(weights.numpy().tobytes()).hexdigest()}
    print(json.dumps(report), flush=True)
    dist.barrier()
    # The group goes before the tensors it has sent: else torch 1.13 may hang here, its threads waiting for this one.
    del parallel
    dist.destroy_process_group()
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()

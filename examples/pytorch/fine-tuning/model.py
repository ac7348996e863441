"""The model of both programs: it guesses from the triples of characters in a text where that is from."""

import zlib

import torch
from torch import nn


class Classifier(nn.Module):
    """Texts, as numbers of their triples one after the other, and where each begins -> a logit for each label."""

    def __init__(self, triples, width, labels):
        super().__init__()
        self.embedding = nn.EmbeddingBag(triples, width, mode="sum")
        self.inner = nn.Linear(width, width)
        self.head = nn.Linear(width, labels)

    def forward(self, numbers, starts):
        return self.head(torch.tanh(self.inner(self.embedding(numbers, starts))))


class Adapted(nn.Module):
    """A linear layer that stays as it is, and a product of two small matrices that is trained instead (LoRA)."""

    def __init__(self, layer, r, lora_alpha):
        super().__init__()
        self.layer, self.scale = layer.requires_grad_(False), lora_alpha / r
        self.down = nn.Parameter(torch.randn(r, layer.in_features) / r)
        self.up = nn.Parameter(torch.zeros(layer.out_features, r))

    def forward(self, x):
        return self.layer(x) + x @ self.down.T @ self.up.T * self.scale


def encoded(texts, triples):
    """What the model takes."""
    each = [[zlib.crc32(text[at : at + 3].encode()) % triples for at in range(len(text) - 2)] for text in texts]
    starts = torch.tensor([0, *map(len, each[:-1])]).cumsum(0)
    return torch.tensor([number for one in each for number in one]), starts

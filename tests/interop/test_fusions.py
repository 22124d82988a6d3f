# SPDX-License-Identifier: Apache-2.0
"""The planner finds its patterns in what coremltools makes of PyTorch: they are computations, not marks of our own."""

import json

import pytest
import torch
from conversion import FP16, assert_close, convert, input_arrays, save, tolerance
from torch import nn
from torch.nn import functional as F

TOKENS, CHANNELS, HEADS, KV_HEADS, HEAD_DIM = 12, 64, 4, 2, 16


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(CHANNELS) + 0.5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate_half(x):
    return torch.cat((-x[..., HEAD_DIM // 2:], x[..., :HEAD_DIM // 2]), -1)


class DecoderLayer(nn.Module):
    """As transformers writes a layer of Llama or Qwen; attention as one operation or written out."""

    def __init__(self, is_one_operation):
        super().__init__()
        self.is_one_operation = is_one_operation
        self.q, self.o = nn.Linear(CHANNELS, HEADS * HEAD_DIM), nn.Linear(HEADS * HEAD_DIM, CHANNELS, bias=False)
        self.k, self.v = nn.Linear(CHANNELS, KV_HEADS * HEAD_DIM), nn.Linear(CHANNELS, KV_HEADS * HEAD_DIM)
        self.gate, self.up = nn.Linear(CHANNELS, 128, bias=False), nn.Linear(CHANNELS, 128, bias=False)
        self.down = nn.Linear(128, CHANNELS, bias=False)
        self.before, self.after = RmsNorm(), RmsNorm()

    def heads(self, x, count):
        return x.view(1, TOKENS, count, HEAD_DIM).transpose(1, 2)

    def forward(self, x, cos, sin, mask):
        h = self.before(x)
        q, k, v = self.heads(self.q(h), HEADS), self.heads(self.k(h), KV_HEADS), self.heads(self.v(h), KV_HEADS)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        if self.is_one_operation:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            mixed = torch.softmax(q @ k.transpose(2, 3) / HEAD_DIM**0.5 + mask, -1) @ v
        x = x + self.o(mixed.transpose(1, 2).reshape(1, TOKENS, -1))
        h = self.after(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def fused_steps(anemone, path):
    """How often each pattern was found."""
    counts = {}
    report = json.loads(anemone("inspect", "--explain", "--json", path))
    for function in report["functions"]:
        for kind in function["kinds"]:
            if kind["fused"]:
                name = kind["kind"].split()[0]
                counts[name] = counts.get(name, 0) + kind["count"]
    return counts


@pytest.mark.parametrize("target", [16, 17, 18])
@pytest.mark.parametrize("is_one_operation", [True, False], ids=["sdpa", "written-out"])
def test_a_decoder_layer(anemone, tmp_path, is_one_operation, target):
    torch.manual_seed(5)
    angles = torch.rand(1, 1, TOKENS, HEAD_DIM) * 6
    mask = torch.full((1, 1, TOKENS, TOKENS), -1e4).triu(1)
    example = [torch.randn(1, TOKENS, CHANNELS), angles.cos(), angles.sin(), mask]
    module = DecoderLayer(is_one_operation)
    model = convert(module, example, FP16, target)
    path = save(model, tmp_path)
    found = fused_steps(anemone, path)
    expected = {"projection": 7, "rms_norm": 2, "rope": 2, "attention": 1, "silu_multiply": 1, "add": 2}
    assert {name: found.get(name, 0) for name in expected} == expected, found
    with torch.no_grad():
        y = module(*example)
    assert_close(anemone.predict(path, input_arrays(model, example), tmp_path)["y"], y, tolerance(FP16))

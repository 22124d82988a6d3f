# SPDX-License-Identifier: Apache-2.0
"""Norms, softmaxes and elementwise chains of packages that coremltools writes are fused, and right."""

import collections
import json

import pytest
import torch
from conversion import FP16, FP16_ERROR, FP32, assert_close, convert, input_arrays, save
from torch import nn
from torch.nn import functional as F


class NormAndSoftmax(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.norm, self.plain = nn.LayerNorm(width), nn.LayerNorm(width, elementwise_affine=False)
        nn.init.normal_(self.norm.weight), nn.init.normal_(self.norm.bias)

    def forward(self, x):
        return F.softmax(self.norm(x) + self.plain(x), -1)


class Mish(nn.Module):
    def forward(self, x):
        return x * torch.tanh(F.softplus(x))


class WrittenOutGelu(nn.Module):
    """As GPT-2 has it."""

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))


class SoftCap(nn.Module):
    def forward(self, x):
        return torch.tanh(x / 15) * 15


class GatedChannels(nn.Module):
    """A factor and a shift for each channel, one of them computed, and a residual."""

    def __init__(self, channels=6):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(channels, 1))

    def forward(self, x):
        return x + torch.sigmoid(x.mean(-1, keepdim=True)) * (F.hardswish(x) - self.shift)


class Activation(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def kinds_of(anemone, path):
    """How many steps of each kind are fused, and how many are not."""
    report = json.loads(anemone("inspect", "--explain", "--json", path))
    (function,) = report["functions"]
    fused, other = collections.Counter(), collections.Counter()
    for step in function["steps"]:
        (fused if step["fused"] else other)[step["kind"]] += 1
    return fused, other


def check(anemone, folder, module, x, target, precision=FP16):
    """Gives the kinds of its steps."""
    model = convert(module, [x], precision, target)
    path = save(model, folder)
    outputs = anemone.predict(path, input_arrays(model, [x]), folder)
    with torch.no_grad():
        assert_close(outputs["y"], module(x), FP16_ERROR)
    return kinds_of(anemone, path)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(11)


@pytest.mark.parametrize("target", [16, 17, 18])
def test_norms_and_softmaxes(anemone, tmp_path, target):
    fused, other = check(anemone, tmp_path, NormAndSoftmax(), 2 * torch.randn(2, 7, 48), target)
    assert fused["layer_norm"] == 2 and fused["softmax"] == 1
    assert set(other) <= {"cast"}


@pytest.mark.parametrize("target", [16, 17, 18])
@pytest.mark.parametrize("module", [Mish, WrittenOutGelu, SoftCap])
def test_chains(anemone, tmp_path, module, target):
    fused, other = check(anemone, tmp_path, module(), 3 * torch.randn(3, 5, 37), target)
    assert fused == {"chain": 1}
    assert set(other) <= {"cast"}


@pytest.mark.parametrize("target", [16, 18])
def test_chains_that_broadcast(anemone, tmp_path, target):
    fused, other = check(anemone, tmp_path, GatedChannels(), 2 * torch.randn(2, 6, 31), target)
    # The gate of a channel is a chain over fewer elements.
    assert fused == {"chain": 2}
    assert set(other) <= {"cast", "reduce_mean"}


@pytest.mark.parametrize("function", [
    F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu, F.sigmoid, F.tanh, F.softplus, F.softsign, F.elu, F.relu6,
    F.leaky_relu, F.hardsigmoid, F.hardswish, torch.erf, torch.exp, lambda x: torch.clamp(x, -1, 0.5),
    lambda x: torch.rsqrt(x.abs() + 0.5), lambda x: 1 / (x * x + 0.25)])
def test_activations_are_chains(anemone, tmp_path, function):
    fused, other = check(anemone, tmp_path, Activation(function), 3 * torch.randn(4, 45), 17)
    assert fused == {"chain": 1}
    assert set(other) <= {"cast"}


def test_a_package_of_fp32_is_left_alone(anemone, tmp_path):
    fused, _ = check(anemone, tmp_path, Mish(), torch.randn(3, 8), 17, FP32)
    assert not fused

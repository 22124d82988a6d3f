# SPDX-License-Identifier: Apache-2.0
"""The planner finds its patterns in what coremltools makes of PyTorch: they are computations, not marks of our own."""

import json

import coremltools as ct
import numpy as np
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
        return x.view(1, x.shape[1], count, HEAD_DIM).transpose(1, 2)

    def forward(self, x, cos, sin, mask):
        h = self.before(x)
        q, k, v = self.heads(self.q(h), HEADS), self.heads(self.k(h), KV_HEADS), self.heads(self.v(h), KV_HEADS)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        if self.is_one_operation:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            mixed = torch.softmax(q @ k.transpose(2, 3) / HEAD_DIM**0.5 + mask, -1) @ v
        x = x + self.o(mixed.transpose(1, 2).reshape(1, x.shape[1], -1))
        h = self.after(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def fused_steps(anemone, path):
    """How often each pattern was found."""
    report = json.loads(anemone("inspect", "--explain", "--json", path))
    return fused_kinds(kind for function in report["functions"] for kind in function["kinds"])


def fused_kinds(kinds):
    counts = {}
    for kind in kinds:
        if kind["fused"]:
            name = kind["kind"].split()[0]
            counts[name] = counts.get(name, 0) + kind["count"]
    return counts


LAYER = {"projection": 7, "rms_norm": 2, "rope": 2, "attention": 1, "silu_multiply": 1, "add": 2}


def layer_example(tokens):
    angles = torch.rand(1, 1, tokens, HEAD_DIM) * 6
    mask = torch.full((1, 1, tokens, tokens), -1e4).triu(1)
    return [torch.randn(1, tokens, CHANNELS), angles.cos(), angles.sin(), mask]


@pytest.mark.parametrize("target", [16, 17, 18])
@pytest.mark.parametrize("is_one_operation", [True, False], ids=["sdpa", "written-out"])
def test_a_decoder_layer(anemone, tmp_path, is_one_operation, target):
    torch.manual_seed(5)
    example = layer_example(TOKENS)
    module = DecoderLayer(is_one_operation)
    model = convert(module, example, FP16, target)
    path = save(model, tmp_path)
    found = fused_steps(anemone, path)
    assert {name: found.get(name, 0) for name in LAYER} == LAYER, found
    with torch.no_grad():
        y = module(*example)
    assert_close(anemone.predict(path, input_arrays(model, example), tmp_path)["y"], y, tolerance(FP16))


class FixedLayer(nn.Module):
    """The same with tables and mask in the program, as an export of one length has them."""

    def __init__(self, is_one_operation, tables):
        super().__init__()
        self.layer = DecoderLayer(is_one_operation)
        for name, table in zip(["cos", "sin", "mask"], tables):
            self.register_buffer(name, table)

    def forward(self, x):
        return self.layer(x, self.cos, self.sin, self.mask)


@pytest.mark.parametrize("is_one_operation", [True, False], ids=["sdpa", "written-out"])
def test_a_decoder_layer_of_constant_tables(anemone, tmp_path, is_one_operation):
    torch.manual_seed(5)
    x, *tables = layer_example(TOKENS)
    module = FixedLayer(is_one_operation, tables)
    model = convert(module, [x], FP16, 18)
    path = save(model, tmp_path)
    found = fused_steps(anemone, path)
    assert {name: found.get(name, 0) for name in LAYER} == LAYER, found
    with torch.no_grad():
        y = module(x)
    assert_close(anemone.predict(path, input_arrays(model, [x]), tmp_path)["y"], y, tolerance(FP16))


@pytest.mark.parametrize("shapes", ["range", "enumerated"])
@pytest.mark.parametrize("is_one_operation", [True, False], ids=["sdpa", "written-out"])
def test_a_decoder_layer_of_open_length(anemone, tmp_path, is_one_operation, shapes):
    """The plan of a run is that of its length, and finds what a package of fixed shapes has."""
    torch.manual_seed(5)
    lengths = [TOKENS, 1, 33]
    module, example = DecoderLayer(is_one_operation), layer_example(TOKENS)
    if shapes == "range":
        open_length = ct.RangeDim(lower_bound=1, upper_bound=40, default=TOKENS)
        inputs = [ct.TensorType(shape=tuple(open_length if size == TOKENS else size for size in tensor.shape))
                  for tensor in example]
    else:
        choices = zip(*map(layer_example, lengths))
        inputs = [ct.TensorType(shape=ct.EnumeratedShapes([tuple(t.shape) for t in tensors])) for tensors in choices]
    model = convert(module, example, FP16, 18, inputs=inputs)
    path = save(model, tmp_path)
    for tokens in lengths:
        given = layer_example(tokens)
        with torch.no_grad():
            y = module(*given)
        arrays = input_arrays(model, given)
        assert_close(anemone.predict(path, arrays, tmp_path)["y"], y, tolerance(FP16))
        plan = json.loads(anemone("predict", path, "--inputs", tmp_path / "in.safetensors", "--outputs",
                                  tmp_path / "out.safetensors", "--explain", "--json"))
        found = fused_kinds(plan["kinds"])
        assert {name: found.get(name, 0) for name in LAYER} == LAYER, found


class Experts(nn.Module):
    """A sparse mixture with all experts in the graph, as one writes it for a compiler without branches."""

    COUNT, CHOSEN, WIDTH = 6, 2, 96

    def __init__(self, is_convolution):
        super().__init__()
        self.is_convolution = is_convolution
        self.router = nn.Linear(CHANNELS, self.COUNT, bias=False)
        layer = (lambda i, o: nn.Conv2d(i, o, 1)) if is_convolution else nn.Linear
        self.gate_up = nn.ModuleList(layer(CHANNELS, 2 * self.WIDTH) for _ in range(self.COUNT))
        self.down = nn.ModuleList(layer(self.WIDTH, CHANNELS) for _ in range(self.COUNT))

    def forward(self, x):
        probabilities = torch.softmax(self.router(x), -1)
        least = torch.topk(probabilities, self.CHOSEN, -1).values[..., -1:]
        weights = torch.where(probabilities >= least, probabilities, torch.zeros_like(probabilities))
        y, channels = x, -1
        if self.is_convolution:  # [1, C, T, 1]
            x, weights, channels = x.transpose(1, 2).unsqueeze(-1), weights.transpose(1, 2).unsqueeze(-1), 1
            y = x
        for e in range(self.COUNT):
            gate, up = self.gate_up[e](x).chunk(2, channels)
            weight = weights[:, e:e + 1] if self.is_convolution else weights[..., e:e + 1]
            y = y + weight * self.down[e](F.silu(gate) * up)
        return y


@pytest.mark.parametrize("is_convolution", [False, True], ids=["linear", "conv"])
def test_a_sparse_mixture(anemone, tmp_path, is_convolution):
    torch.manual_seed(7)
    module, example = Experts(is_convolution), [torch.randn(1, TOKENS, CHANNELS)]
    model = convert(module, example, FP16, 18)
    path = save(model, tmp_path)
    found = fused_steps(anemone, path)
    assert found.get("experts") == 1 and found.get("projection") == 1, found
    with torch.no_grad():
        y = module(*example)
    assert_close(anemone.predict(path, input_arrays(model, example), tmp_path)["y"], y, tolerance(FP16))


class PackedCaches(nn.Module):
    """Layers over one buffer, as ANEMLL packs caches: a row for the keys and one for the values of each layer."""

    def __init__(self, is_grouped, layers=2, room=24, context=16):
        super().__init__()
        self.is_grouped, self.layers, self.context = is_grouped, layers, context
        width, kv_width = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
        self.q, self.k, self.v = (nn.ModuleList(nn.Linear(width, out) for _ in range(layers))
                                  for out in (width, kv_width, kv_width))
        self.register_buffer("cache", torch.zeros(2 * layers, KV_HEADS, room, HEAD_DIM))

    def forward(self, x, position, mask):
        count, group = x.shape[1], HEADS // KV_HEADS
        for i in range(self.layers):
            q = self.q[i](x).view(1, count, HEADS, HEAD_DIM).transpose(1, 2) * HEAD_DIM**-0.5
            k, v = (t[i](x).view(1, count, KV_HEADS, HEAD_DIM).transpose(1, 2) for t in (self.k, self.v))
            for row, tokens in ((i, k), (self.layers + i, v)):
                self.cache[row:row + 1, :, position:position + count, :] = tokens
            keys, values = (self.cache[row:row + 1, :, :self.context, :] for row in (i, self.layers + i))
            if self.is_grouped:
                q = q.reshape(1, KV_HEADS, group * count, HEAD_DIM)
                scores = (q @ keys.transpose(2, 3)).reshape(1, HEADS, count, self.context) + mask
                weights = torch.softmax(scores, -1).reshape(1, KV_HEADS, group * count, self.context)
                mixed = (weights @ values).reshape(1, HEADS, count, HEAD_DIM)
            else:
                keys, values = (t.repeat_interleave(group, 1) for t in (keys, values))
                mixed = torch.softmax(q @ keys.transpose(2, 3) + mask, -1) @ values
            x = x + mixed.transpose(1, 2).reshape(1, count, -1)
        return x


@pytest.mark.parametrize("is_grouped", [True, False])
def test_caches_of_several_layers_in_one_state(anemone, tmp_path, is_grouped):
    """Attention over groups of heads takes the rows where they are; keys and values that are repeated are copied, but an
    update copies its tokens alone."""
    module, count = PackedCaches(is_grouped), 4
    example = [torch.randn(1, count, CHANNELS), torch.tensor([3], dtype=torch.int32), torch.zeros(1, 1, count, 16)]
    model = convert(module, example, FP16,
                    inputs=[ct.TensorType(shape=(1, count, CHANNELS), dtype=np.float16),
                            ct.TensorType(shape=(1,), dtype=np.int32),
                            ct.TensorType(shape=(1, 1, count, 16), dtype=np.float16)],
                    states=[ct.StateType(wrapped_type=ct.TensorType(shape=tuple(module.cache.shape), dtype=np.float16), name="cache")])
    path = save(model, tmp_path)
    report = json.loads(anemone("inspect", "--explain", "--json", path))
    kinds = {kind["kind"]: kind["count"] for function in report["functions"] for kind in function["kinds"]}
    assert "slice_update" not in kinds
    assert kinds.get("cached_attention", 0) == (2 if is_grouped else 0)
    assert kinds.get("slice_update in place", 0) == (0 if is_grouped else 4)
    module.cache.zero_()
    states = {}
    for position in (0, 4, 2, 12):
        x = torch.randn(1, count, CHANNELS)
        mask = torch.full((count, 16), -1e4).triu(position + 1)[None, None]
        inputs = input_arrays(model, [x, torch.tensor([position], dtype=torch.int32), mask])
        outputs = anemone.predict(path, inputs, tmp_path, states=states)
        assert_close(outputs["y"], module(x, torch.tensor([position]), mask), tolerance(FP16))
        assert_close(states["cache"], module.cache, tolerance(FP16))


class ScatteredCaches(nn.Module):
    """A buffer for the keys and one for the values, written by scatter_ at positions that are an input."""

    def __init__(self, context=16):
        super().__init__()
        width, kv_width = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, kv_width), nn.Linear(width, kv_width)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, KV_HEADS, context, HEAD_DIM))

    def forward(self, x, positions, mask):
        count, group = x.shape[1], HEADS // KV_HEADS
        q = self.q(x).view(1, count, HEADS, HEAD_DIM).transpose(1, 2) * HEAD_DIM**-0.5
        where = positions.long().view(1, 1, -1, 1).expand(1, KV_HEADS, count, HEAD_DIM)
        for cache, make in ((self.keys, self.k), (self.values, self.v)):
            cache.scatter_(2, where, make(x).view(1, count, KV_HEADS, HEAD_DIM).transpose(1, 2))
        keys, values = (t.repeat_interleave(group, 1) for t in (self.keys, self.values))
        mixed = torch.softmax(q @ keys.transpose(2, 3) + mask, -1) @ values
        return x + mixed.transpose(1, 2).reshape(1, count, -1)


def test_caches_that_are_scattered_to(anemone, tmp_path):
    """A step writes its tokens into the memory of the states and copies nothing else."""
    module, count = ScatteredCaches(), 4
    example = [torch.randn(1, count, CHANNELS), torch.arange(count, dtype=torch.int32), torch.zeros(1, 1, count, 16)]
    model = convert(module, example, FP16,
                    inputs=[ct.TensorType(shape=(1, count, CHANNELS), dtype=np.float16),
                            ct.TensorType(shape=(count,), dtype=np.int32),
                            ct.TensorType(shape=(1, 1, count, 16), dtype=np.float16)],
                    states=[ct.StateType(wrapped_type=ct.TensorType(shape=tuple(module.keys.shape), dtype=np.float16), name=name)
                            for name in ("keys", "values")])
    path = save(model, tmp_path)
    report = json.loads(anemone("inspect", "--explain", "--json", path))
    kinds = {kind["kind"]: kind["count"] for function in report["functions"] for kind in function["kinds"]}
    assert kinds.get("scatter_along_axis in place") == 2, kinds
    module.keys.zero_(), module.values.zero_()
    states = {}
    for positions in ([0, 1, 2, 3], [4, 5, 6, 7], [9, 8, 3, 15]):
        x, at = torch.randn(1, count, CHANNELS), torch.tensor(positions, dtype=torch.int32)
        mask = torch.where(torch.arange(16)[None, :] <= at[:, None], 0.0, -1e4)[None, None]
        outputs = anemone.predict(path, input_arrays(model, [x, at, mask]), tmp_path, states=states)
        assert_close(outputs["y"], module(x, at, mask), tolerance(FP16))
        for name in ("keys", "values"):
            assert_close(states[name], getattr(module, name), tolerance(FP16))

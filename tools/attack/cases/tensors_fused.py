# SPDX-License-Identifier: Apache-2.0
"""What only looks like a pattern that the engine runs as one operation: operands that broadcast, or hold nothing."""

from lib.case import add, expect
from lib.mil import Program
from lib.tensors import REASON, predict


def numbers(out, name, shape, value=0.5):
    count = 1
    for dim in shape:
        count *= dim
    return out.const(name, "fp16", shape, [value] * count)


def norm(shape, axis, gamma):
    """x * rsqrt(mean(x^2) + eps) * gamma"""
    out = Program(18)
    out.input("x", "fp16", shape)
    reduced = [1 if i == axis else dim for i, dim in enumerate(shape)]
    out.const("axes", "int32", [1], [axis])
    out.const("keep", "bool", [], [True])
    numbers(out, "eps", [], 0.001)
    numbers(out, "gamma", gamma)
    out.op("square", {"x": "x"}, ("squares", "fp16", shape))
    out.op("reduce_mean", {"x": "squares", "axes": "axes", "keep_dims": "keep"}, ("mean", "fp16", reduced))
    out.op("add", {"x": "mean", "y": "eps"}, ("sum", "fp16", reduced))
    out.op("rsqrt", {"x": "sum", "epsilon": "eps"}, ("factor", "fp16", reduced))
    out.op("mul", {"x": "x", "y": "factor"}, ("normed", "fp16", shape))
    out.op("mul", {"x": "normed", "y": "gamma"}, ("y", "fp16", shape))
    out.output("y", "fp16", shape)
    return out


def mixture(rows):
    """Two gated experts, of so many rows each."""
    out = Program(18)
    out.input("x", "fp16", [1, 4, 8])
    out.input("weight", "fp16", [1, 4, 1])
    numbers(out, "in", [8, 8])
    for i, count in enumerate(rows):
        numbers(out, f"out{i}", [count, 8])
        out.op("linear", {"x": "x", "weight": "in"}, (f"gate{i}", "fp16", [1, 4, 8]))
        out.op("linear", {"x": "x", "weight": "in"}, (f"up{i}", "fp16", [1, 4, 8]))
        out.op("silu", {"x": f"gate{i}"}, (f"silu{i}", "fp16", [1, 4, 8]))
        out.op("mul", {"x": f"silu{i}", "y": f"up{i}"}, (f"product{i}", "fp16", [1, 4, 8]))
        out.op("linear", {"x": f"product{i}", "weight": f"out{i}"}, (f"down{i}", "fp16", [1, 4, count]))
        out.op("mul", {"x": f"down{i}", "y": "weight"}, (f"term{i}", "fp16", [1, 4, count]))
    out.op("add", {"x": "term0", "y": "term1"}, ("y", "fp16", [1, 4, max(rows)]))
    out.output("y", "fp16", [1, 4, max(rows)])
    return out


def works(name, make, tensors):
    def body(trial):
        codes = predict(trial, make(), tensors)
        expect(set(codes.values()) == {0}, f"expected an answer, got {codes}")

    add(f"tensor/fused/{name}", REASON, body)


for label, shape, axis, gamma in (
    ("good", [2, 4], 1, [4]),
    ("no-channels", [2, 0], 1, [0]),
    ("no-columns", [4, 0], 0, [4, 1]),
    ("no-rows", [0, 4], 1, [4]),
):
    count = shape[0] * shape[1]
    works(f"norm-{label}", lambda s=shape, a=axis, g=gamma: norm(s, a, g), {"x": ("fp16", shape, [1.0] * count)})
for label, rows in (("good", [8, 8]), ("first-of-one-row", [1, 20_000]), ("last-of-one-row", [20_000, 1])):
    tensors = {"x": ("fp16", [1, 4, 8], [0.1] * 32), "weight": ("fp16", [1, 4, 1], [0.5] * 4)}
    works(f"mixture-{label}", lambda r=rows: mixture(r), tensors)


def many_operations(trial):
    """Every operation may begin a pattern that is as long as the program."""
    out = Program(18)
    out.input("x", "fp16", [1, 8])
    last = "x"
    for i in range(20_000):
        last = out.op("add", {"x": last, "y": "x"}, (f"v{i}", "fp16", [1, 8]))
    out.output(last, "fp16", [1, 8])
    codes = predict(trial, out, {"x": ("fp16", [1, 8], [0.001] * 8)})
    expect(set(codes.values()) == {0}, f"expected an answer, got {codes}")


add("tensor/fused/many-operations", "The search for patterns is bounded by the size of the program.", many_operations)

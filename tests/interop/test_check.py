# SPDX-License-Identifier: Apache-2.0
"""`anemone check` on packages that coremltools makes: what breaks a law is found with that law and nothing else, and a
twin that keeps it is not. The packages are small, so what is said of their size is left out."""

import coremltools as ct
import numpy as np
import pytest
import torch
from conversion import FP16, FP32, convert
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types

optimize = ct.optimize.coreml
OF_SIZE = {"small-package", "tiny-function"}


def check(anemone, model, folder, *options):
    """The exit code and the report."""
    model.save(str(folder / "model.mlpackage"))
    return anemone.check(folder / "model.mlpackage", *options)


def laws(report, kinds=("refused", "slow", "contested", "note")):
    return {law["law"] for law in report["laws"] if law["severity"] in kinds} - OF_SIZE


def program(body, shape, target=ct.target.iOS18, dtype=types.fp16):
    @mb.program(input_specs=[mb.TensorSpec(shape=shape, dtype=dtype)], opset_version=target)
    def built(x):
        return body(x)

    return ct.convert(built, convert_to="mlprogram", minimum_deployment_target=target, skip_model_load=True,
                      compute_precision=FP16 if dtype == types.fp16 else FP32, pass_pipeline=ct.PassPipeline.EMPTY)


def weight(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float16)


def conv(x, outputs=64, inputs=64):
    return mb.conv(x=x, weight=weight(outputs, inputs, 1, 1))


def soft(x):
    return mb.add(x=mb.maximum(x=x, y=np.float16(0)), y=mb.log(x=mb.add(x=mb.exp(x=mb.mul(x=mb.abs(x=x), y=np.float16(-1))), y=np.float16(1))))


def taps(x):
    kernel = weight(64, 1, 1, 3)
    padded = mb.pad(x=x, pad=[0, 0, 0, 0, 0, 0, 2, 0], mode="constant", constant_val=np.float16(0))
    parts = [mb.mul(x=mb.slice_by_size(x=padded, begin=[0, 0, 0, k], size=[1, 64, 1, 64]), y=kernel[None, :, 0, :, k])
             for k in range(3)]
    return mb.add(x=mb.add(x=parts[0], y=parts[1]), y=parts[2])


def depthwise(x):
    return mb.conv(x=x, weight=weight(64, 1, 1, 3), groups=64, pad_type="custom", pad=[0, 0, 2, 0])


def chosen(x):
    return mb.select(cond=mb.greater(x=x, y=np.float16(0)), a=x, b=mb.mul(x=x, y=np.float16(0.5)))


def wide(x):
    return mb.conv(x=x, weight=weight(20_000, 64, 1, 1))


def narrow(x):
    return mb.concat(values=[mb.conv(x=x, weight=weight(10_000, 64, 1, 1)) for _ in range(2)], axis=2)


IMAGE = (1, 64, 1, 64)
# Name -> (what breaks the law, its twin, the shape of the input, the laws that the first breaks).
PROGRAMS = {
    "softplus": (lambda x: mb.softplus(x=conv(x)), lambda x: soft(conv(x)), IMAGE, {"softplus"}),
    "depthwise": (lambda x: depthwise(conv(x)), lambda x: taps(conv(x)), IMAGE, {"depthwise-conv"}),
    "select": (lambda x: chosen(conv(x, 64, 64)), lambda x: mb.relu(x=conv(x)), (1, 64, 1, 512), {"large-select", "element-type"}),
    "wide": (wide, narrow, (1, 64, 1, 32), {"wide-output"}),
    "wide input": (lambda x: mb.conv(x=x, weight=weight(32, 17_000, 1, 1)),
                   lambda x: mb.add(x=mb.conv(x=mb.slice_by_size(x=x, begin=[0, 0, 0, 0], size=[1, 8500, 1, 32]), weight=weight(32, 8500, 1, 1)),
                                    y=mb.conv(x=mb.slice_by_size(x=x, begin=[0, 8500, 0, 0], size=[1, 8500, 1, 32]), weight=weight(32, 8500, 1, 1))),
                   (1, 17_000, 1, 32), {"wide-input"}),
    "topk": (lambda x: mb.topk(x=conv(x), k=4, axis=1)[0], lambda x: mb.reduce_max(x=conv(x), axes=[1], keep_dims=True), IMAGE, {"sort"}),
    "argmax": (lambda x: mb.reduce_argmax(x=conv(x), axis=1, keep_dims=True), lambda x: conv(x), IMAGE, {"argmax"}),
    "cumsum": (lambda x: mb.cumsum(x=conv(x), axis=3), lambda x: conv(x), IMAGE, {"host-operation"}),
    "condition": (lambda x: mb.cond(pred=mb.greater(x=mb.reduce_sum(x=x, axes=[0, 1, 2, 3]), y=np.float16(0)), _true_fn=lambda: conv(x),
                                    _false_fn=lambda: mb.relu(x=x)), lambda x: conv(x), IMAGE, {"control-flow"}),
    "linear": (lambda x: mb.linear(x=x, weight=weight(64, 64), bias=np.zeros(64, np.float16)), lambda x: conv(x), IMAGE, {"linear-product"}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_breaks_a_law_and_its_twin(anemone, tmp_path, name):
    breaks, keeps, shape, expected = PROGRAMS[name]
    # Floats are stored as they are, which is a note of its own.
    _, broken = check(anemone, program(breaks, shape), tmp_path)
    assert laws(broken) - {"unquantized-weights"} == expected
    _, kept = check(anemone, program(keeps, shape), tmp_path)
    assert laws(kept) - {"unquantized-weights"} == set()


def quantized(**options):
    return lambda model: optimize.linear_quantize_weights(
        model, optimize.OptimizationConfig(optimize.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=0, **options)))


def palettized(**options):
    return lambda model: optimize.palettize_weights(
        model, optimize.OptimizationConfig(optimize.OpPalettizerConfig(mode="uniform", weight_threshold=0, **options)))


@pytest.mark.parametrize("form, expected", [
    (quantized(dtype="int4", granularity="per_block", block_size=32), {"block-scales"}),
    (quantized(dtype="int8", granularity="per_block", block_size=32), {"block-scales"}),
    (quantized(dtype="int8", granularity="per_channel"), set()),
    (quantized(dtype="int8", granularity="per_tensor"), set()),
    (palettized(nbits=4, granularity="per_tensor"), set()),
    (palettized(nbits=6, granularity="per_grouped_channel", group_size=16), set()),
    (palettized(nbits=4, granularity="per_grouped_channel", group_size=16, enable_per_channel_scale=True), {"palette-scales"}),
])
def test_how_weights_are_stored(anemone, tmp_path, form, expected):
    model = form(program(lambda x: conv(conv(x)), IMAGE))
    code, report = check(anemone, model, tmp_path)
    assert laws(report) == expected
    assert code == (1 if expected else 0)


class Cache(torch.nn.Module):
    def __init__(self, *shapes):
        super().__init__()
        for i, shape in enumerate(shapes):
            self.register_buffer(f"cache_{i}", torch.zeros(shape, dtype=torch.float16))
        self.count = len(shapes)

    def forward(self, x):
        total = x
        for i in range(self.count):
            cache = getattr(self, f"cache_{i}")
            cache[:] = cache + x[:, :1, :1, :1]
            total = total + cache.sum()
        return total


@pytest.mark.parametrize("shapes, expected", [
    ([(1, 2, 64, 64)], set()),
    ([(1, 2, 64, 40)], {"state-width"}),
    ([(1, 2, 64, 64), (1, 1, 64, 32)], {"state-shapes"}),
    ([(1, 2, 64, 64)] * 3, {"many-states"}),
])
def test_states(anemone, tmp_path, shapes, expected):
    states = [ct.StateType(wrapped_type=ct.TensorType(shape=shape, dtype=np.float16), name=f"cache_{i}") for i, shape in enumerate(shapes)]
    model = convert(Cache(*shapes), [torch.zeros(1, 64, 1, 64)], FP16, states=states,
                    inputs=[ct.TensorType(shape=(1, 64, 1, 64), dtype=np.float16)])
    _, report = check(anemone, model, tmp_path)
    assert laws(report, ("refused", "contested")) == expected


def test_flexible_shapes(anemone, tmp_path):
    module = torch.nn.Conv2d(64, 64, 1)
    for shape, expected in ((ct.Shape((1, 64, 1, ct.RangeDim(1, 128, 64))), {"range-shapes"}),
                            (ct.EnumeratedShapes([(1, 64, 1, 64), (1, 64, 1, 128)]), {"list-shapes"}),
                            ((1, 64, 1, 64), set())):
        model = convert(module, [torch.zeros(1, 64, 1, 64)], FP16, inputs=[ct.TensorType(shape=shape, dtype=np.float16)])
        _, report = check(anemone, model, tmp_path)
        assert laws(report, ("refused", "contested")) == expected


def test_a_package_of_fp32_is_off_the_chip(anemone, tmp_path):
    body = lambda x: mb.relu(x=mb.conv(x=x, weight=np.ones((512, 512, 1, 1), np.float32)))
    code, report = check(anemone, program(body, (1, 512, 1, 64), dtype=types.fp32), tmp_path)
    assert (code, laws(report) & {"fp32"}) == (0, {"fp32"})
    assert report["functions"][0]["products_on_ane"] == 0
    code, _ = check(anemone, program(body, (1, 512, 1, 64), dtype=types.fp32), tmp_path, "--strict")
    assert code == 1

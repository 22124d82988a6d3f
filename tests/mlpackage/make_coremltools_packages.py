# SPDX-License-Identifier: Apache-2.0
"""Writes data/coremltools/*.mlpackage: packages of a few kB as coremltools 9.0 writes them, one for each part of the
format. The reader is tested on these bytes, so that it does not only read what our own writer makes.

usage: python make_coremltools_packages.py      (coremltools, torch)
"""

import logging
import pathlib
import shutil
import tempfile

logging.disable(logging.WARNING)

import coremltools as ct  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402
from torch import nn  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "data" / "coremltools"
FP16, FP32 = ct.precision.FLOAT16, ct.precision.FLOAT32
optimize = ct.optimize.coreml


def write(model, name):
    path = FOLDER / f"{name}.mlpackage"
    shutil.rmtree(path, ignore_errors=True)
    model.save(str(path))


def convert(source, target, precision=FP16, **options):
    return ct.convert(source, minimum_deployment_target=target, compute_precision=precision, convert_to="mlprogram",
                      skip_model_load=True, **options)


class Mlp(nn.Module):
    def __init__(self, inner=64):
        super().__init__()
        self.up, self.down = nn.Linear(40, inner), nn.Linear(inner, 4)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


class Accumulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 4))

    def forward(self, x):
        self.total.add_(x)
        return torch.softmax(self.total, -1)


class Flexible(nn.Module):
    def forward(self, x):
        return torch.softmax(x.reshape(x.shape[1], -1) @ torch.ones(8, 2), 0)


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, stride=2)

    def forward(self, x):
        return torch.softmax(self.conv(x).mean((2, 3)), -1)


def traced(module, *example):
    return torch.jit.trace(module.eval(), example)


def mlp(target, precision=FP16):
    return convert(traced(Mlp(), torch.zeros(2, 40)), target, precision, inputs=[ct.TensorType("x", (2, 40))],
                   outputs=[ct.TensorType("y")])


def quantized(model, **options):
    return optimize.linear_quantize_weights(
        model, optimize.OptimizationConfig(optimize.OpLinearQuantizerConfig(**options)))


def palettized(model, **options):
    return optimize.palettize_weights(
        model, optimize.OptimizationConfig(optimize.OpPalettizerConfig(mode="uniform", **options)))


def pruned(model):
    return optimize.prune_weights(
        model, optimize.OptimizationConfig(optimize.OpMagnitudePrunerConfig(target_sparsity=0.7)))


def several_functions():
    descriptor = ct.utils.MultiFunctionDescriptor()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("one", "two"):
            torch.manual_seed(1)
            mlp(ct.target.iOS18).save(f"{folder}/{name}.mlpackage")
            descriptor.add_function(f"{folder}/{name}.mlpackage", "main", name)
        descriptor.default_function_name = "two"
        path = FOLDER / "functions.mlpackage"
        shutil.rmtree(path, ignore_errors=True)
        ct.utils.save_multifunction(descriptor, str(path))


def forget_the_date(path):
    spec = ct.utils.load_spec(str(path))
    if spec.description.metadata.userDefined.pop("com.github.apple.coremltools.conversion_date", None) is not None:
        (path / "Data/com.apple.CoreML/model.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))


@mb.program(input_specs=[mb.TensorSpec(shape=(3,))], opset_version=ct.target.iOS16)
def control_flow(x):
    """Nested blocks, a list and constants of each kind of number and of text."""
    def go_on(i, y):
        return mb.less(x=i, y=np.int32(4))

    def step(i, y):
        is_even = mb.equal(x=mb.mod(x=i, y=np.int32(2)), y=np.int32(0))
        next_y = mb.cond(pred=is_even, _true_fn=lambda: mb.add(x=y, y=np.float32(1)),
                         _false_fn=lambda: mb.mul(x=y, y=np.float32(2)))
        return mb.add(x=i, y=np.int32(1)), next_y

    _, y = mb.while_loop(_cond=go_on, _body=step, loop_vars=(np.int32(0), x))
    kept = mb.make_list(init_length=2, elem_shape=(3,), dtype="fp32", dynamic_length=False)
    kept = mb.list_write(ls=kept, index=np.int32(1), value=y)
    return mb.gelu(x=mb.list_read(ls=kept, index=np.int32(1)), mode="TANH_APPROXIMATION", name="y")


def main():
    torch.manual_seed(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    write(mlp(ct.target.iOS15), "mlp_ios15")
    write(mlp(ct.target.iOS17, FP32), "mlp_ios17_fp32")
    write(quantized(mlp(ct.target.iOS16), mode="linear", dtype="uint8"), "uint8_ios16")
    write(quantized(mlp(ct.target.iOS18), mode="linear_symmetric", dtype="int8"), "int8_ios18")
    write(quantized(mlp(ct.target.iOS18), mode="linear", dtype="int4", granularity="per_block", block_size=8),
          "int4_blocks_ios18")
    write(palettized(mlp(ct.target.iOS16), nbits=6), "palette6_ios16")
    write(palettized(mlp(ct.target.iOS18), nbits=3), "palette3_ios18")
    write(palettized(mlp(ct.target.iOS18), nbits=4, granularity="per_grouped_channel", group_size=16,
                     enable_per_channel_scale=True), "palette4_scales_ios18")
    write(pruned(mlp(ct.target.iOS16)), "sparse_ios16")
    write(optimize.palettize_weights(
        pruned(mlp(ct.target.iOS18)),
        optimize.OptimizationConfig(optimize.OpPalettizerConfig(mode="uniform", nbits=4)), joint_compression=True),
        "sparse_palette4_ios18")
    write(convert(traced(Accumulator(), torch.zeros(1, 4)), ct.target.iOS18,
                  inputs=[ct.TensorType("x", (1, 4), dtype=np.float16)], outputs=[ct.TensorType("y", dtype=np.float16)],
                  states=[ct.StateType(ct.TensorType(shape=(1, 4), dtype=np.float16), name="total")]), "state")
    flexible = traced(Flexible(), torch.zeros(1, 4, 8))
    write(convert(flexible, ct.target.iOS17,
                  inputs=[ct.TensorType("x", ct.Shape((1, ct.RangeDim(1, 64, default=4), 8)))]), "range")
    write(convert(flexible, ct.target.iOS17, inputs=[ct.TensorType("x", ct.EnumeratedShapes(
        [(1, 4, 8), (1, 16, 8)], default=(1, 4, 8)))]), "listed_shapes")
    write(convert(traced(Picture(), torch.zeros(1, 3, 16, 20)), ct.target.iOS16,
                  inputs=[ct.ImageType("x", (1, 3, 16, 20), scale=1 / 255, bias=[0.1, 0.2, 0.3],
                                       color_layout=ct.colorlayout.BGR)],
                  classifier_config=ct.ClassifierConfig(["cat", "dog", "bird"])), "classifier")
    write(convert(control_flow, ct.target.iOS16, FP32), "control_flow")
    several_functions()
    for path in sorted(FOLDER.iterdir()):
        forget_the_date(path)
        weights = path / "Data/com.apple.CoreML/weights"
        if not any(weights.iterdir()):
            (weights / ".keep").touch()  # git has no empty folders, and an item of the manifest must be there
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
        assert size < 50_000, path
        print(f"{path.name:32}{size:8}")


main()

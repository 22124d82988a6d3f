# SPDX-License-Identifier: Apache-2.0
"""`anemone predict` on packages whose weights coremltools compressed gives what PyTorch gives with the weights that
coremltools decompresses."""

import coremltools as ct
import modules
import numpy as np
import pytest
import torch
from conversion import FP16, FP32, assert_close, convert, input_arrays, save, tolerance
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types
from package_check import load_program

optimize = ct.optimize.coreml


def linear(**options):
    return lambda model: optimize.linear_quantize_weights(
        model, optimize.OptimizationConfig(optimize.OpLinearQuantizerConfig(**options)))


def palettes(**options):
    # The other modes need a version of scikit-learn that is no longer to be had; the layout is the same.
    return lambda model: optimize.palettize_weights(
        model, optimize.OptimizationConfig(optimize.OpPalettizerConfig(mode="uniform", **options)))


def sparse(share=0.6, **options):
    return lambda model: optimize.prune_weights(
        model, optimize.OptimizationConfig(optimize.OpMagnitudePrunerConfig(target_sparsity=share, **options)))


def then(first, config):
    return lambda model: first_then(first(model), config)


def first_then(model, config):
    if isinstance(config, optimize.OpPalettizerConfig):
        return optimize.palettize_weights(model, optimize.OptimizationConfig(config), joint_compression=True)
    return optimize.linear_quantize_weights(model, optimize.OptimizationConfig(config), joint_compression=True)


# Name -> (least target, how, the operations that must occur).
BLOCKWISE, LUT, SPARSE = "constexpr_blockwise_shift_scale", "constexpr_lut_to_dense", "constexpr_sparse_to_dense"
AFFINE, LUT_SPARSE = "constexpr_affine_dequantize", "constexpr_lut_to_sparse"
SPARSE_BLOCKWISE = "constexpr_sparse_blockwise_shift_scale"
LINEAR8, ASYMMETRIC = "linear_symmetric", "linear"
FORMS = {
    "int8_tensor_16": (16, linear(mode=LINEAR8, dtype="int8", granularity="per_tensor"), {AFFINE}),
    "int8_channel_16": (16, linear(mode=LINEAR8, dtype="int8"), {AFFINE}),
    "uint8_channel_16": (16, linear(mode=LINEAR8, dtype="uint8"), {AFFINE}),
    "uint8_asymmetric_16": (16, linear(mode=ASYMMETRIC, dtype="uint8"), {AFFINE}),
    "int8_asymmetric_17": (17, linear(mode=ASYMMETRIC, dtype="int8"), {AFFINE}),
    "int8_tensor_18": (18, linear(mode=LINEAR8, dtype="int8", granularity="per_tensor"), {BLOCKWISE}),
    "int8_channel_18": (18, linear(mode=LINEAR8, dtype="int8"), {BLOCKWISE}),
    "uint8_channel_18": (18, linear(mode=LINEAR8, dtype="uint8"), {BLOCKWISE}),
    "int8_asymmetric_18": (18, linear(mode=ASYMMETRIC, dtype="int8"), {BLOCKWISE}),
    "int8_block_18": (18, linear(mode=LINEAR8, dtype="int8", granularity="per_block", block_size=16), {BLOCKWISE}),
    "int4_block_18": (18, linear(mode=LINEAR8, dtype="int4", granularity="per_block", block_size=32), {BLOCKWISE}),
    "int4_asymmetric_block_18":
        (18, linear(mode=ASYMMETRIC, dtype="int4", granularity="per_block", block_size=8), {BLOCKWISE}),
    "uint4_block_18": (18, linear(mode=ASYMMETRIC, dtype="uint4", granularity="per_block", block_size=8), {BLOCKWISE}),
    "uint4_tensor_18": (18, linear(mode=ASYMMETRIC, dtype="uint4", granularity="per_tensor"), {BLOCKWISE}),
    "int4_channel_18": (18, linear(mode=LINEAR8, dtype="int4", granularity="per_channel"), {BLOCKWISE}),
    **{f"palette{n}_16": (16, palettes(nbits=n), {LUT}) for n in (1, 6, 8)},
    **{f"palette{n}_18": (18, palettes(nbits=n), {LUT}) for n in (1, 2, 3, 4, 6, 8)},
    **{f"palette{n}_groups_18":
       (18, palettes(nbits=n, granularity="per_grouped_channel", group_size=8), {LUT}) for n in (4, 8)},
    "palette4_groups_of_inputs_18":
        (18, palettes(nbits=4, granularity="per_grouped_channel", group_size=16, channel_axis=1), {LUT}),
    "palette4_scales_18": (18, palettes(nbits=4, enable_per_channel_scale=True), {LUT, BLOCKWISE}),
    "palette4_int8_lut_18": (18, then(palettes(nbits=4), optimize.OpLinearQuantizerConfig(
        mode=LINEAR8, granularity="per_tensor")), {LUT, BLOCKWISE}),
    "sparse_16": (16, sparse(), {SPARSE}),
    "sparse_18": (18, sparse(), {SPARSE}),
    "sparse_blocks_18": (18, sparse(0.5, block_size=2), {SPARSE}),
    "sparse_palette4_18": (18, then(sparse(), optimize.OpPalettizerConfig(mode="uniform", nbits=4)),
                           {SPARSE, LUT_SPARSE}),
    "sparse_int8_18": (18, then(sparse(), optimize.OpLinearQuantizerConfig(mode=LINEAR8)), {SPARSE, SPARSE_BLOCKWISE}),
}


def weights_of(model, folder):
    """The dense weights of the convolutions and linear layers, in order."""
    path = save(optimize.decompress_weights(model), folder, "dense")
    _, program = load_program(path)
    return [op.weight.val for op in program.functions["main"].operations if op.op_type in ("conv", "linear")]


# One form of each layout of the bytes also with fp32 scales and palettes.
IN_FP32 = ["uint8_asymmetric_16", "int4_block_18", "palette4_scales_18", "sparse_16", "sparse_int8_18"]


@pytest.mark.parametrize("form,precision", [(form, FP16) for form in FORMS] + [(form, FP32) for form in IN_FP32])
def test_compressed_weights(anemone, tmp_path, form, precision):
    target, compress, operations = FORMS[form]
    torch.manual_seed(3)
    module, x = modules.ConvAndLinear(), torch.randn(1, 64, 5, 4)
    model = compress(convert(module, [x], precision, target))
    path = save(model, tmp_path)
    report = anemone.inspect(path)
    used = set(report["functions"][0]["operations"])
    assert {name for name in used if "constexpr" in name} == operations
    dense = weights_of(model, tmp_path)
    assert len(dense) == 4
    with torch.no_grad():
        for layer, weight in zip(module.compressible(), dense):
            assert not np.array_equal(layer.weight.numpy(), weight)
            layer.weight.copy_(torch.from_numpy(weight.astype(np.float32)))
        expected = module(x)
    outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
    assert_close(outputs["y"], expected, tolerance(precision))


def unpack(indices, palette, axis):
    """Vector palettes by the definition: entry [group, index, :] lies along `axis`."""
    groups = palette.shape[:indices.ndim]
    shape = list(indices.shape)
    shape[axis] *= palette.shape[-1]
    dense = np.zeros(shape, palette.dtype)
    for place in np.ndindex(*indices.shape):
        group = tuple(p * g // n for p, g, n in zip(place, groups, indices.shape))
        target = list(place)
        width = palette.shape[-1]
        target[axis] = slice(place[axis] * width, (place[axis] + 1) * width)
        dense[tuple(target)] = palette[group][indices[place]]
    return dense


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 4), (2, 4)])
def test_palettes_of_vectors(anemone, tmp_path, axis, groups):
    random = np.random.default_rng(3)
    width = 2
    indices = random.integers(0, 16, (8, 8)).astype(types.nptype_from_builtin(types.uint4))
    palette = random.standard_normal((*groups, 16, width)).astype(np.float32)
    dense = unpack(indices, palette, axis)

    @mb.program(input_specs=[mb.TensorSpec(shape=(3, dense.shape[1]))], opset_version=ct.target.iOS18)
    def program(x):
        weight = mb.constexpr_lut_to_dense(indices=indices, lut=palette, vector_axis=np.int32(axis))
        return mb.linear(x=x, weight=weight, name="y")

    model = ct.convert(program, compute_precision=FP32, minimum_deployment_target=ct.target.iOS18,
                       convert_to="mlprogram", skip_model_load=True)
    path = save(model, tmp_path)
    anemone.inspect(path)
    x = random.standard_normal((3, dense.shape[1])).astype(np.float32)
    assert_close(anemone.predict(path, {"x": x}, tmp_path)["y"], x @ dense.T, tolerance(FP32))

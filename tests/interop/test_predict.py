# SPDX-License-Identifier: Apache-2.0
"""`anemone predict` on packages that coremltools writes gives what PyTorch gives."""

import coremltools as ct
import modules
import numpy as np
import pytest
import torch
from conversion import FP16, FP32, TARGETS, assert_close, convert, input_arrays, save, tolerance
from torch.nn import functional as F

PRECISIONS = {"fp32": FP32, "fp16": FP16}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(3)


def check(anemone, folder, module, example, precision=FP32, target=18, **options):
    """Converts, inspects and runs the module on the example."""
    model = convert(module, example, precision, target, **options)
    path = save(model, folder)
    report = anemone.inspect(path)
    with torch.no_grad():
        expected = module(*example)
    if isinstance(expected, torch.Tensor):
        expected = [expected]
    outputs = anemone.predict(path, input_arrays(model, example), folder)
    for i, tensor in enumerate(expected):
        assert_close(outputs["y" if i == 0 else f"y{i}"], tensor, tolerance(precision))
    return report


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (15, "fp16"), (16, "fp16"), (17, "fp32"), (18, "fp16")])
def test_mlp_of_each_target(anemone, tmp_path, target, precision):
    check(anemone, tmp_path, modules.Mlp(), [torch.randn(2, 5, 64)], PRECISIONS[precision], target)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_activations(anemone, tmp_path, precision):
    module = modules.Activations()
    check(anemone, tmp_path, module, [4 * torch.randn(3, 32)], PRECISIONS[precision], outputs=len(module.functions))


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (18, "fp16")])
def test_cnn(anemone, tmp_path, target, precision):
    module = modules.Cnn()
    with torch.no_grad():
        module.stem[1].running_mean.normal_()
        module.stem[1].running_var.uniform_(0.5, 2)
    check(anemone, tmp_path, module, [torch.randn(2, 3, 15, 20)], PRECISIONS[precision], target)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_causal_convolutions(anemone, tmp_path, precision):
    check(anemone, tmp_path, modules.Conv1dStack(), [torch.randn(2, 6, 17)], PRECISIONS[precision])


def test_a_recurrent_layer_that_is_a_loop(anemone, tmp_path):
    check(anemone, tmp_path, modules.Recurrent(), [torch.randn(1, 7, 6)])


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (17, "fp16")])
def test_indexing(anemone, tmp_path, target, precision):
    ids = torch.tensor([[4, 0, 3], [1, 1, 2]], dtype=torch.int32)
    check(anemone, tmp_path, modules.Indexing(), [torch.randn(2, 5, 4), ids], PRECISIONS[precision], target, outputs=3)


def test_pictures_and_classes(anemone, tmp_path):
    module = modules.Classifier().eval()
    picture = np.random.default_rng(3).integers(0, 256, (1, 3, 9, 12)).astype(np.float32)
    traced = torch.jit.trace(module, torch.zeros(1, 3, 9, 12))
    model = ct.convert(traced, inputs=[ct.ImageType("x", (1, 3, 9, 12), scale=1 / 127.5, bias=[-1, -1, -1])],
                       classifier_config=ct.ClassifierConfig(["cat", "dog", "bird"]), compute_precision=FP32,
                       minimum_deployment_target=ct.target.iOS16, convert_to="mlprogram", skip_model_load=True)
    path = save(model, tmp_path)
    anemone.inspect(path)
    outputs = anemone.predict(path, {"x": picture}, tmp_path)
    expected = module(torch.from_numpy(picture) / 127.5 - 1)
    assert_close(outputs["classLabel_probs"], expected, tolerance(FP32))


@pytest.mark.parametrize("target,precision", [(17, "fp16"), (18, "fp16"), (18, "fp32")])
@pytest.mark.parametrize("height", [4, ct.RangeDim(2, 8, default=4)])
def test_a_grayscale_picture_of_bytes(anemone, tmp_path, height, target, precision):
    picture = ct.ImageType("x", ct.Shape((1, 1, height, 5)), color_layout=ct.colorlayout.GRAYSCALE, grayscale_use_uint8=True)
    traced = torch.jit.trace(modules.Brightness().eval(), torch.zeros(1, 1, 4, 5))
    model = ct.convert(traced, inputs=[picture], outputs=[ct.TensorType("y")], compute_precision=PRECISIONS[precision],
                       minimum_deployment_target=TARGETS[target], convert_to="mlprogram", skip_model_load=True)
    path = save(model, tmp_path)
    anemone.inspect(path)
    x = np.arange(20, dtype=np.uint8).reshape(1, 1, 4, 5) * 13
    outputs = anemone.predict(path, {"x": x}, tmp_path)
    np.testing.assert_array_equal(outputs["y"], x.astype(np.float32) * 2 + 1)


def test_a_grayscale_picture_of_bytes_as_output(anemone, tmp_path):
    gray = ct.colorlayout.GRAYSCALE
    traced = torch.jit.trace(modules.Mirror().eval(), torch.zeros(1, 1, 4, 5))
    model = ct.convert(traced, inputs=[ct.ImageType("x", (1, 1, 4, 5), color_layout=gray, grayscale_use_uint8=True)],
                       outputs=[ct.ImageType("y", color_layout=gray)], minimum_deployment_target=ct.target.iOS17,
                       convert_to="mlprogram", skip_model_load=True)
    path = save(model, tmp_path)
    anemone.inspect(path)
    x = np.arange(20, dtype=np.uint8).reshape(1, 1, 4, 5) * 13
    outputs = anemone.predict(path, {"x": x}, tmp_path)
    assert outputs["y"].dtype == np.uint8
    np.testing.assert_array_equal(outputs["y"], x[..., ::-1])


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (17, "fp16"), (18, "fp16")])
@pytest.mark.parametrize("block", [modules.EncoderBlock, modules.FusedEncoderBlock, modules.MaskedEncoderBlock])
def test_encoder_block(anemone, tmp_path, block, precision, target):
    ids = torch.randint(0, 50, (2, 9), dtype=torch.int32)
    check(anemone, tmp_path, block(), [ids], PRECISIONS[precision], target)


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (18, "fp16")])
def test_a_range_of_lengths(anemone, tmp_path, target, precision):
    module = modules.Tokens()
    shape = ct.Shape((1, ct.RangeDim(1, 32, default=4), 16))
    model = convert(module, [torch.randn(1, 4, 16)], PRECISIONS[precision], target,
                    inputs=[ct.TensorType(shape=shape, dtype=np.float32)])
    path = save(model, tmp_path)
    anemone.inspect(path)
    for length in (1, 4, 5, 32):
        x = torch.randn(1, length, 16)
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
        assert_close(outputs["y"], module(x), tolerance(PRECISIONS[precision]))
    with pytest.raises(AssertionError, match="exit 2.*x"):
        anemone.predict(path, input_arrays(model, [torch.randn(1, 33, 16)]), tmp_path)


@pytest.mark.parametrize("target", TARGETS)
def test_a_range_of_lengths_without_the_axes_of_one(anemone, tmp_path, target):
    shape = ct.Shape((1, ct.RangeDim(1, 8, default=4), 1, 5))
    model = convert(modules.Squeezed(), [torch.randn(1, 4, 1, 5)], FP32, target, inputs=[ct.TensorType(shape=shape, dtype=np.float32)])
    path = save(model, tmp_path)
    for length in (1, 4, 8):
        x = torch.randn(1, length, 1, 5)
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
        assert_close(outputs["y"], x[0, :, 0] * 2, tolerance(FP32))  # with a length of one, too, as the package declares


@pytest.mark.parametrize("precision", PRECISIONS)
def test_listed_lengths(anemone, tmp_path, precision):
    module = modules.Tokens()
    shape = ct.EnumeratedShapes(shapes=[(1, 2, 16), (1, 8, 16), (1, 20, 16)], default=(1, 8, 16))
    model = convert(module, [torch.randn(1, 8, 16)], PRECISIONS[precision],
                    inputs=[ct.TensorType(shape=shape, dtype=np.float32)])
    path = save(model, tmp_path)
    anemone.inspect(path)
    for length in (2, 8, 20):
        x = torch.randn(1, length, 16)
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
        assert_close(outputs["y"], module(x), tolerance(PRECISIONS[precision]))
    with pytest.raises(AssertionError, match="exit 2.*x"):
        anemone.predict(path, input_arrays(model, [torch.randn(1, 3, 16)]), tmp_path)


def state(name, tensor):
    return ct.StateType(wrapped_type=ct.TensorType(shape=tuple(tensor.shape), dtype=np.float16), name=name)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_attention_with_caches_over_several_calls(anemone, tmp_path, precision):
    module = modules.CachedAttention()
    tokens, end = ct.RangeDim(1, 12, default=1), ct.RangeDim(1, 12, default=1)
    model = convert(module, [torch.randn(1, 2, 16), torch.zeros(1, 1, 2, 5)], PRECISIONS[precision],
                    inputs=[ct.TensorType(shape=ct.Shape((1, tokens, 16)), dtype=np.float32),
                            ct.TensorType(shape=ct.Shape((1, 1, tokens, end)), dtype=np.float32)],
                    states=[state("keys", module.keys), state("values", module.values)])
    path = save(model, tmp_path)
    assert len(anemone.inspect(path)["functions"][0]["states"]) == 2
    module.keys.zero_(), module.values.zero_()
    states, past = {}, 0
    for length in (4, 1, 1, 3, 1):
        x = torch.randn(1, length, 16)
        mask = torch.full((length, past + length), -1e4).triu(past + 1)[None, None]
        outputs = anemone.predict(path, input_arrays(model, [x, mask]), tmp_path, states=states)
        # The caches are fp16 whatever the precision is.
        assert_close(outputs["y"], module(x, mask), tolerance(FP16))
        past += length
    assert set(states) == {"keys", "values"}
    assert_close(states["keys"], module.keys, tolerance(FP16))
    assert_close(states["values"], module.values, tolerance(FP16))
    assert not states["keys"][:, :, past:].any()


def test_states_are_carried_and_start_as_zeros(anemone, tmp_path):
    module = modules.Counter()
    model = convert(module, [torch.zeros(3, 4)], FP16, outputs=2,
                    states=[state("total", module.total), state("calls", module.calls)])
    path = save(model, tmp_path)
    module.total.zero_(), module.calls.zero_()
    # Small multiples of 1/4: exact in fp16.
    steps = [torch.randint(-8, 9, (3, 4)) / 4 for _ in range(4)]
    states = {}
    for x in steps:
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path, states=states)
        doubled, mean = module(x)
        np.testing.assert_array_equal(outputs["y"], doubled.numpy())
        assert_close(outputs["y1"], mean, tolerance(FP16))
    assert states["calls"] == len(steps)
    again = anemone.predict(path, input_arrays(model, [steps[0]]), tmp_path, states={})
    np.testing.assert_array_equal(again["y"], 2 * steps[0].numpy())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_each_function_of_a_package(anemone, tmp_path, precision):
    modules_by_name = {"first": modules.Mlp(), "second": modules.Mlp(activation=F.relu)}
    modules_by_name["second"].load_state_dict(modules_by_name["first"].state_dict())
    x = torch.randn(3, 64)
    descriptor = ct.utils.MultiFunctionDescriptor()
    for name, module in modules_by_name.items():
        path = save(convert(module, [x], PRECISIONS[precision]), tmp_path, name)
        descriptor.add_function(str(path), "main", name)
    descriptor.default_function_name = "second"
    path = tmp_path / "both.mlpackage"
    ct.utils.save_multifunction(descriptor, str(path))
    report = anemone.inspect(path)
    assert report["default_function"] == "second"
    model = ct.models.MLModel(str(path), skip_model_load=True)
    for function in (None, "first", "second"):
        outputs = anemone.predict(path, input_arrays(model, [x], function), tmp_path, function=function)
        assert_close(outputs["y"], modules_by_name[function or "second"](x), tolerance(PRECISIONS[precision]))

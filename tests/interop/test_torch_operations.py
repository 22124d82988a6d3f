# SPDX-License-Identifier: Apache-2.0
"""Operations of vision and sequence models, from PyTorch through coremltools' converter: what `anemone predict` gives is
what PyTorch gives. The operations by themselves, in every dtype, are in test_operations.py."""

import coremltools as ct
import numpy as np
import operation_modules as make
import pytest
import torch
from conversion import assert_close, convert, input_arrays, name_of, save, tolerance
from test_predict import PRECISIONS, check
from torch import nn

TARGETS = pytest.mark.parametrize("target,precision", [(15, "fp32"), (16, "fp16"), (17, "fp32"), (18, "fp16")])
SIZES = {1: (13,), 2: (8, 10), 3: (5, 6, 7)}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(5)


def count_of(module, example):
    with torch.no_grad():
        return len(module.eval()(*example))


def run(anemone, folder, module, example, precision, target):
    check(anemone, folder, module, example, PRECISIONS[precision], target, outputs=count_of(module, example))


@TARGETS
@pytest.mark.parametrize("spatial", SIZES)
@pytest.mark.parametrize("layers", [make.convolutions, make.transposed_convolutions, make.poolings])
def test_windows(anemone, tmp_path, layers, spatial, target, precision):
    run(anemone, tmp_path, layers(spatial), [torch.randn(2, 6, *SIZES[spatial])], precision, target)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_activations_and_functions(anemone, tmp_path, precision):
    run(anemone, tmp_path, make.activations(), [3 * torch.rand(2, 6, 4, 5) - 1.5], precision, 17)


@TARGETS
def test_resampling(anemone, tmp_path, target, precision):
    run(anemone, tmp_path, make.resamplings(target), [torch.randn(1, 4, 6, 8)], precision, target)


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (17, "fp32")])
def test_sampling_at_coordinates(anemone, tmp_path, target, precision):
    # fp16 would move coordinates by more than a nearest pixel allows.
    at = torch.rand(2, 5, 4, 2) * 3 - 1.5
    run(anemone, tmp_path, make.grids(), [torch.randn(2, 3, 6, 7), at], precision, target)


@TARGETS
def test_affine_maps(anemone, tmp_path, target, precision):
    run(anemone, tmp_path, make.outputs(make.AffineMap(True), make.AffineMap(False)), [torch.randn(2, 3, 6, 7)], precision, target)


@TARGETS
@pytest.mark.parametrize("kind,options", [
    (nn.LSTM, {}), (nn.LSTM, {"bidirectional": True}), (nn.LSTM, {"num_layers": 2, "batch_first": True}),
    (nn.LSTM, {"bidirectional": True, "num_layers": 2, "bias": False}), (nn.RNN, {}), (nn.RNN, {"nonlinearity": "relu"}),
    (nn.GRU, {}), (nn.GRU, {"bidirectional": True}),
], ids=str)
def test_recurrent_layers(anemone, tmp_path, kind, options, target, precision):
    run(anemone, tmp_path, make.Sequences(kind, **options), [torch.randn(4, 2, 5)], precision, target)


@TARGETS
def test_pictures_of_any_size(anemone, tmp_path, target, precision):
    module = make.FlexiblePicture()
    sides = ct.RangeDim(4, 40, default=8), ct.RangeDim(4, 40, default=8)
    model = convert(module, [torch.randn(1, 3, 8, 8)], PRECISIONS[precision], target,
                    inputs=[ct.TensorType(shape=ct.Shape((1, 3, *sides)), dtype=np.float32)])
    path = save(model, tmp_path)
    anemone.inspect(path)
    for size in ((8, 8), (4, 40), (17, 9)):
        x = torch.randn(1, 3, *size)
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
        assert_close(outputs["y"], module(x), tolerance(PRECISIONS[precision]))


@pytest.mark.parametrize("target,precision", [(15, "fp32"), (18, "fp16")])
def test_sequences_of_any_length(anemone, tmp_path, target, precision):
    module = make.Sequences(nn.LSTM, bidirectional=True)
    shape = ct.Shape((ct.RangeDim(1, 30, default=4), 2, 5))
    model = convert(module, [torch.randn(4, 2, 5)], PRECISIONS[precision], target,
                    inputs=[ct.TensorType(shape=shape, dtype=np.float32)], outputs=3)
    path = save(model, tmp_path)
    for length in (1, 4, 30):
        x = torch.randn(length, 2, 5)
        outputs = anemone.predict(path, input_arrays(model, [x]), tmp_path)
        for i, expected in enumerate(module(x)):
            assert_close(outputs[name_of("y", i)], expected, tolerance(PRECISIONS[precision]))

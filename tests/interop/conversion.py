# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules as packages that coremltools writes, and what PyTorch says to the same input."""

import coremltools as ct
import numpy as np
import torch
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.frontend.torch import ops as frontend

FP16, FP32 = ct.precision.FLOAT16, ct.precision.FLOAT32
TARGETS = {15: ct.target.iOS15, 16: ct.target.iOS16, 17: ct.target.iOS17, 18: ct.target.iOS18}


# numpy 2.4 makes no int of an array with one element, which coremltools 9.0 relies on for sizes it computed.
frontend_cast = frontend._cast


def cast_of_one_element(context, node, dtype, dtype_name):
    value = context[node.inputs[0]].val
    if isinstance(value, np.ndarray) and value.size == 1:
        context.add(mb.const(val=dtype(value.item()), name=node.name), node.name)
    else:
        frontend_cast(context, node, dtype, dtype_name)


frontend._cast = cast_of_one_element


def convert(module, example, precision=FP32, target=18, inputs=None, states=None, outputs=None):
    """The module, traced with the example inputs, as an MLModel. Inputs are x, x1, ...; outputs are y, y1, ..."""
    module.eval()
    with torch.no_grad():
        traced = torch.jit.trace(module, example)
    if inputs is None:
        inputs = [ct.TensorType(shape=tuple(t.shape), dtype=numpy_type(t)) for t in example]
    for i, tensor_type in enumerate(inputs):
        tensor_type.name = name_of("x", i)
    count = outputs or 1
    return ct.convert(traced, inputs=inputs, outputs=[ct.TensorType(name=name_of("y", i)) for i in range(count)],
                      states=states, compute_precision=precision, minimum_deployment_target=TARGETS[target],
                      convert_to="mlprogram", skip_model_load=True)


def name_of(letter, index):
    return letter if index == 0 else f"{letter}{index}"


def numpy_type(tensor):
    return np.int32 if tensor.dtype in (torch.int32, torch.int64) else np.float32


def input_arrays(model, example, function=None):
    """The example inputs by name, in the dtype that the package declares."""
    description = model.get_spec().description
    if description.functions:
        wanted = function or description.defaultFunctionName
        features = next(f for f in description.functions if f.name == wanted).input
    else:
        features = description.input
    array_type = ct.proto.FeatureTypes_pb2.ArrayFeatureType
    dtypes = {array_type.FLOAT16: np.float16, array_type.FLOAT32: np.float32, array_type.INT32: np.int32}
    # The order of the description is not that of the arguments.
    positions = {name_of("x", i): i for i in range(len(example))}
    return {f.name: example[positions[f.name]].numpy().astype(dtypes[f.type.multiArrayType.dataType]) for f in features}


def save(model, folder, name="model"):
    path = folder / f"{name}.mlpackage"
    model.save(str(path))
    return path


def assert_close(got, expected, relative):
    """The largest difference is below `relative` times the largest number that is expected."""
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    assert got.shape == (expected.shape or (1,))
    scale = max(np.abs(expected).max(), 1e-3)
    worst = np.abs(got.astype(np.float64) - expected).max()
    assert worst <= relative * scale, f"off by {worst / scale:.2e} of the largest output, allowed {relative:.0e}"


# Sums of at most a few thousand products in another order: some tens of roundings of 6e-8.
FP32_ERROR = 1e-5
# Each layer rounds its result to 11 bits (5e-4 relative to the element); a few layers deep, and relative to the
# largest output, the bound that op-by-op fp16 with fp32 sums keeps.
FP16_ERROR = 5e-3


def tolerance(precision):
    return FP32_ERROR if precision == FP32 else FP16_ERROR

# SPDX-License-Identifier: Apache-2.0
"""Shared by the make_<category>.py scripts: builds and writes tests/ops/data/<op>.json.

    from cases import Cases, tensor, text, fp16, fp32, int32, boolean
    cases = Cases("add")
    x, y = fp16([[1, 2]]), fp16([3, 4])
    cases.add("adds a row to every row", {"x": x, "y": y}, [fp16(np.float32(x) + np.float32(y))])
    cases.fail("rejects shapes that do not broadcast", {...}, "add_c1")
    cases.write()

The format of the files is in op_case.h. Expected values are computed in float64 or float32 and rounded
once, by tensor(). Run one script to rewrite its files: python3 tests/ops/make_elementwise.py
"""

import json
import math
import pathlib

import numpy as np

NUMPY = {
    "fp16": np.float16, "fp32": np.float32, "bool": np.bool_, "int8": np.int8, "uint8": np.uint8,
    "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32,
}
# Narrower than a byte, or unknown to numpy: held as int8 or uint8 and written under their own name.
NARROW = {"int4": np.int8, "uint1": np.uint8, "uint2": np.uint8, "uint3": np.uint8, "uint4": np.uint8,
          "uint6": np.uint8}


class Array:
    """A numpy array with the name of its MIL dtype."""

    def __init__(self, dtype, values):
        self.dtype = dtype
        with np.errstate(over="ignore"):  # a result that overflows fp16 is inf
            self.array = np.asarray(values).astype(NUMPY.get(dtype) or NARROW[dtype])

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


def tensor(dtype, values):
    return Array(dtype, values)


def fp16(values):
    return Array("fp16", values)


def fp32(values):
    return Array("fp32", values)


def int32(values):
    return Array("int32", values)


def boolean(values):
    return Array("bool", values)


def text(value):
    return {"text": value}


def type_only(dtype, shape):
    """An argument of which only the type is known; for cases of fail()."""
    return {"dtype": dtype, "shape": list(shape)}


def _number(value):
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    # The shortest decimal that is this number in its own dtype.
    value = float(str(value)) if isinstance(value, np.floating) else float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if value.is_integer() and abs(value) < 2**53 and not _is_minus_zero(value) else value


def _is_minus_zero(value):
    return value == 0 and math.copysign(1, value) < 0


def _encode(value):
    if isinstance(value, dict):
        return value
    if isinstance(value, (list, tuple)):
        return {"list": [_encode(v) for v in value]}
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, Array):
        raise TypeError(f"expected tensor(), text() or a list of them, got {value!r}")
    return {"dtype": value.dtype, "shape": list(value.array.shape),
            "values": [_number(v) for v in value.array.reshape(-1)]}


class Cases:
    """The data file of one operation."""

    def __init__(self, op):
        self.op = op
        self.cases = []

    def add(self, name, inputs, outputs, opset=None, tolerance=None, **flags):
        """A case that must hold. `inputs`: parameter -> tensor, text or list; `outputs`: list of tensors."""
        self._append(name, inputs, opset, outputs=[_encode(o) for o in outputs], tolerance=tolerance, **flags)

    def fail(self, name, inputs, error, opset=None, outputs=None, **flags):
        """A case that must be refused with `error` in the message; `outputs` only to say how many."""
        self._append(name, inputs, opset, outputs=outputs and [_encode(o) for o in outputs], error=error, **flags)

    def _append(self, name, inputs, opset, **rest):
        case = {"name": name, "op": self.op}
        if opset is not None:
            case["opset"] = opset
        case["inputs"] = {k: _encode(v) for k, v in inputs.items()}
        case.update({k: v for k, v in rest.items() if v is not None})
        self.cases.append(case)

    def write(self):
        path = pathlib.Path(__file__).parent / "data" / f"{self.op}.json"
        path.parent.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(case) for case in self.cases)
        path.write_text(f"[\n{lines}\n]\n")

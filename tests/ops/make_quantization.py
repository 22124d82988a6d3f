# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of quantize and dequantize. Run: python3 tests/ops/make_quantization.py"""

import numpy as np

from cases import Cases, fp16, fp32, int32, tensor, text

random = np.random.default_rng(23)


def spread(values, x, axis):
    """A scalar, or a vector along an axis of x."""
    values = np.asarray(values, np.float64)
    return values if values.ndim == 0 else values.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def quantized(x, scale, dtype, zero_point=0, axis=0):
    x = np.asarray(x, np.float64)
    info = np.iinfo(dtype)
    return np.clip(np.rint(x / spread(scale, x, axis)) + spread(zero_point, x, axis), info.min, info.max)


def write_quantize():
    cases = Cases("quantize")
    x = np.round(random.standard_normal((2, 3, 4)) * 640) / 16
    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        for dtype in ("int8", "uint8"):
            zero = 7 if dtype == "int8" else 100
            given = {"input": kind(x), "output_dtype": text(dtype)}
            cases.add(f"takes a scalar scale of {name} for {dtype}", {**given, "scale": kind(0.5), "zero_point": tensor(dtype, zero)},
                      [tensor(dtype, quantized(x, 0.5, dtype, zero))])
            scales, zeros = [0.25, 0.5, 1.0], [zero, 0, 3]
            for axis in (1, -2):
                cases.add(f"takes scales along axis {axis} of {name} for {dtype}",
                          {**given, "scale": kind(scales), "zero_point": tensor(dtype, zeros), "axis": int32(axis)},
                          [tensor(dtype, quantized(x, scales, dtype, zeros, axis))])
    cases.add("has no zero point by default", {"input": fp32(x), "scale": fp32(0.5), "output_dtype": text("int8")}, [tensor("int8", quantized(x, 0.5, "int8"))])
    x = [0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, np.inf, -np.inf]
    cases.add("rounds half to even and saturates", {"input": fp32(x), "scale": fp32(1), "output_dtype": text("int8")},
              [tensor("int8", [0, 2, 2, 0, -2, 127, -128, 127, -128])])
    cases.add("takes no elements", {"input": fp32(np.zeros((0, 2))), "scale": fp32([1, 2]), "axis": int32(1), "output_dtype": text("uint8")}, [tensor("uint8", np.zeros((0, 2)))])
    cases.add("takes a scalar", {"input": fp32(3), "scale": fp32(2), "output_dtype": text("uint8")}, [tensor("uint8", 2)])
    x = fp32(np.zeros((2, 3)))
    given = {"input": x, "scale": fp32(1), "output_dtype": text("int8")}
    cases.fail("refuses a zero point of another rank (c1)", {**given, "zero_point": tensor("int8", [1, 1])}, "quantize_c1")
    cases.fail("refuses scales without an axis (c1)", {**given, "scale": fp32([1, 1])}, "quantize_c1")
    cases.fail("refuses scales of another length (c1)", {**given, "scale": fp32([1, 1]), "axis": int32(1)}, "quantize_c1")
    cases.fail("refuses an axis outside (c1)", {**given, "scale": fp32([1, 1]), "axis": int32(2)}, "quantize_c1")
    cases.fail("refuses scales of rank 2 (c1)", {**given, "scale": fp32([[1, 1]]), "axis": int32(0)}, "quantize_c1")
    cases.fail("refuses another output_dtype (c2)", {**given, "output_dtype": text("int4")}, "quantize_c2")
    cases.fail("refuses a zero point of another dtype (c3)", {**given, "zero_point": tensor("uint8", 1)}, "quantize_c3")
    cases.fail("refuses a scale of 0 (c4)", {**given, "scale": fp32(0)}, "quantize_c4")
    cases.fail("refuses a scale of another dtype", {**given, "scale": fp16(1)}, "parameter")
    cases.fail("refuses ios16", given, "ios17", opset="ios16")
    cases.write()


def write_dequantize():
    cases = Cases("dequantize")
    for dtype, low in (("int8", -128), ("uint8", 0)):
        x = random.integers(low, low + 256, (2, 3, 4))
        for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
            given = {"input": tensor(dtype, x)}
            cases.add(f"takes a scalar scale for {dtype} in {name}", {**given, "scale": kind(0.3), "zero_point": tensor(dtype, 9)},
                      [kind((x - 9.0) * float(np.asarray(kind(0.3))))])
            scales, zeros = [0.25, 0.5, 1.5], [9, 0, 100]
            for axis in (1, -2):
                cases.add(f"takes scales along axis {axis} for {dtype} in {name}",
                          {**given, "scale": kind(scales), "zero_point": tensor(dtype, zeros), "axis": int32(axis)},
                          [kind((x - spread(zeros, x, axis)) * spread(scales, x, axis))])
            cases.add(f"has no zero point by default for {dtype} in {name}", {**given, "scale": kind(0.5)}, [kind(x * 0.5)])
    cases.add("takes no elements", {"input": tensor("int8", np.zeros((0, 2))), "scale": fp32(1)}, [fp32(np.zeros((0, 2)))])
    given = {"input": tensor("int8", [[1, 2, 3]]), "scale": fp32(1)}
    cases.fail("refuses scales without an axis (c1)", {**given, "scale": fp32([1, 1, 1])}, "dequantize_c1")
    cases.fail("refuses a zero point of another dtype", {**given, "zero_point": tensor("uint8", 1)}, "parameter")
    cases.fail("refuses ios16", given, "ios17", opset="ios16")
    cases.write()


write_quantize()
write_dequantize()

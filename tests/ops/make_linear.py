# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category linear. Run: python3 tests/ops/make_linear.py"""

import itertools

import numpy as np

from cases import Cases, fp16, fp32, int32, boolean, text, type_only

random = np.random.default_rng(7)


def values(*shape, scale=1.0):
    """Multiples of 1/16, so that fp16 and fp32 hold them exactly."""
    return np.round(random.standard_normal(shape) * 16 * scale) / 16


def whole(values):
    """An int32 result of floats, as `cast` makes it: toward zero, at most the ends of int32."""
    return int32(np.clip(np.trunc(values), -2**31, 2**31 - 1))


def mixed_operands():
    """Integers, and floats whose products with them are no integers, as float64."""
    generator = np.random.default_rng(17)
    return generator.integers(-99, 99, (3, 4)), np.round(generator.standard_normal((5, 4)) * 16) / 16


def conv(x, weight, bias=None, strides=None, pad_type="valid", pad=None, dilations=None, groups=1):
    """Plain loops in float64."""
    x, weight = np.asarray(x, np.float64), np.asarray(weight, np.float64)
    spatial = x.ndim - 2
    strides, dilations = strides or [1] * spatial, dilations or [1] * spatial
    begin, out_size = [], []
    for i in range(spatial):
        n, k, s, d = x.shape[2 + i], weight.shape[2 + i], strides[i], dilations[i]
        reach = (k - 1) * d + 1
        before, after = 0, 0
        if pad_type == "custom":
            before, after = pad[2 * i], pad[2 * i + 1]
        elif pad_type.startswith("same"):
            total = max((-(-n // s) - 1) * s + reach - n, 0)
            before = total // 2 if pad_type == "same" else total - total // 2
            after = total - before
        begin.append((before, after))
        out_size.append((n + before + after - reach) // s + 1)
    padded = np.pad(x, [(0, 0), (0, 0)] + begin)
    out = np.zeros([x.shape[0], weight.shape[0]] + out_size)
    group_in, group_out = x.shape[1] // groups, weight.shape[0] // groups
    for n, o in itertools.product(range(x.shape[0]), range(weight.shape[0])):
        first = o // group_out * group_in
        for place in itertools.product(*[range(s) for s in out_size]):
            window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d)
                           for p, s, k, d in zip(place, strides, weight.shape[2:], dilations))
            out[(n, o) + place] = np.sum(padded[(n, slice(first, first + group_in)) + window] * weight[o])
    if bias is not None:
        out += np.asarray(bias, np.float64).reshape([1, -1] + [1] * spatial)
    return out


def make_conv():
    cases = Cases("conv")

    def add(name, x, weight, kind=fp32, weight_kind=None, bias=None, opset=None, hidden_error=None, **parameters):
        weight_kind = weight_kind or kind
        inputs = {"x": kind(x), "weight": weight_kind(weight)}
        if bias is not None:
            inputs["bias"] = weight_kind(bias)
        for key, value in parameters.items():
            inputs[key] = text(value) if isinstance(value, str) else int32(value)
        cases.add(name, inputs, [kind(conv(x, weight, bias, **parameters))], opset=opset, hidden_error=hidden_error)

    add("maps channels of one token", values(1, 40, 1, 1), values(24, 40, 1, 1), fp16)
    add("maps channels of many tokens", values(1, 40, 1, 7), values(24, 40, 1, 1), fp16)
    add("maps channels of many tokens on the third axis", values(1, 33, 5, 1), values(6, 33, 1, 1), fp16, bias=values(6))
    add("maps channels of a batch in fp32", values(2, 17, 2, 3), values(5, 17, 1, 1), bias=values(5))
    add("maps channels in groups", values(1, 12, 1, 5), values(8, 3, 1, 1), fp16, groups=4, bias=values(8))
    add("slides over one axis", values(2, 3, 9), values(4, 3, 3))
    add("slides over one axis with strides", values(1, 3, 10), values(4, 3, 3), strides=[3])
    add("slides over two axes", values(1, 2, 6, 7), values(3, 2, 3, 2), bias=values(3))
    add("slides over two axes in fp16", values(1, 2, 6, 7), values(3, 2, 3, 2), fp16, bias=values(3))
    add("slides over three axes", values(1, 2, 4, 5, 3), values(3, 2, 2, 3, 2), strides=[1, 2, 1], dilations=[2, 1, 1],
        hidden_error="conv_c8")
    add("takes one weight a channel", values(1, 6, 1, 12), values(6, 1, 1, 4), fp16, groups=6, bias=values(6))
    add("takes two weights a channel", values(1, 3, 5), values(6, 1, 2), groups=3)
    add("pads as it is told", values(1, 2, 5, 4), values(3, 2, 3, 3), pad_type="custom", pad=[1, 0, 2, 1])
    add("ignores pad when the type is valid", values(1, 2, 5), values(3, 2, 3), pad_type="valid")
    add("pads to the same size", values(1, 2, 5, 6), values(3, 2, 3, 4), pad_type="same")
    add("pads to the same size with strides", values(1, 2, 7, 8), values(3, 2, 3, 4), pad_type="same", strides=[2, 3])
    add("pads to the same size with dilation", values(1, 1, 9), values(2, 1, 4), pad_type="same", dilations=[2],
        hidden_error="conv_c8")
    add("puts the odd cell of the padding first", values(1, 2, 5, 6), values(3, 2, 2, 4), pad_type="same_lower")
    add("pads only, where the kernel is one cell", values(1, 2, 3), values(2, 2, 1), pad_type="custom", pad=[1, 2])
    add("strides without a kernel", values(1, 2, 7), values(2, 2, 1), strides=[2])
    add("dilates", values(1, 2, 8, 8), values(2, 2, 3, 3), dilations=[2, 3], hidden_error="conv_c8")
    add("takes weights of another float dtype", values(1, 20, 1, 3), values(6, 20, 1, 1), fp32, fp16, bias=values(6))
    add("keeps the dtype of x with fp32 weights", values(1, 20, 1, 3), values(6, 20, 1, 1), fp16, fp32, bias=values(6))
    add("works in ios15", values(1, 4, 3), values(2, 4, 2), bias=values(2), opset="ios15", hidden_error="conv_c9")
    add("maps nothing for no token", values(1, 4, 0), values(2, 4, 1), pad_type="same")

    x, w = fp32(values(1, 4, 5)), fp32(values(2, 4, 2))
    cases.fail("rejects rank 2", {"x": fp32(values(4, 5)), "weight": fp32(values(2, 4))}, "conv_c1")
    cases.fail("rejects a weight of another rank", {"x": x, "weight": fp32(values(2, 4, 2, 1))}, "conv_c1")
    cases.fail("rejects an empty kernel", {"x": x, "weight": fp32(values(2, 4, 0))}, "conv_c1")
    cases.fail("rejects channels that do not match", {"x": x, "weight": fp32(values(2, 3, 2))}, "conv_c2")
    cases.fail("rejects zero groups", {"x": x, "weight": w, "groups": int32(0)}, "conv_c2")
    cases.fail("rejects groups that do not divide the input", {"x": x, "weight": fp32(values(3, 1, 2)), "groups": int32(3)}, "conv_c2")
    cases.fail("rejects groups that do not divide the output", {"x": x, "weight": fp32(values(3, 2, 2)), "groups": int32(2)}, "conv_c3")
    cases.fail("rejects a bias of another size", {"x": x, "weight": w, "bias": fp32(values(3))}, "conv_c4")
    cases.fail("rejects zero strides", {"x": x, "weight": w, "strides": int32([0])}, "conv_c5")
    cases.fail("rejects too many strides", {"x": x, "weight": w, "strides": int32([1, 1])}, "conv_c5")
    cases.fail("rejects negative dilations", {"x": x, "weight": w, "dilations": int32([-1])}, "conv_c5")
    cases.fail("rejects an unknown pad type", {"x": x, "weight": w, "pad_type": text("full")}, "conv_c6")
    cases.fail("rejects same_lower in ios15", {"x": x, "weight": w, "pad_type": text("same_lower")}, "conv_c6", opset="ios15")
    cases.fail("rejects negative padding", {"x": x, "weight": w, "pad_type": text("custom"), "pad": int32([-1, 0])}, "conv_c7")
    cases.fail("rejects padding of one side only", {"x": x, "weight": w, "pad_type": text("custom"), "pad": int32([1])}, "conv_c7")
    cases.fail("rejects a kernel larger than x", {"x": x, "weight": fp32(values(2, 4, 6))}, "conv_c7")
    cases.fail("rejects a dilated kernel larger than x", {"x": x, "weight": w, "dilations": int32([2147483647])}, "conv_c7")
    cases.fail("rejects weights of another dtype before ios17", {"x": x, "weight": fp16(values(2, 4, 2))}, "conv_c9", opset="ios16")
    cases.fail("rejects a bias of another dtype than the weight", {"x": x, "weight": w, "bias": fp16(values(2))}, "conv_c9")
    cases.fail("rejects an output that no machine holds",
               {"x": fp32(values(1, 1, 1, 1)), "weight": fp32(values(1, 1, 1, 1)), "pad_type": text("custom"),
                "pad": int32([2147483647] * 4)}, "conv_c10")
    cases.write()


def make_matmul():
    cases = Cases("matmul")

    def add(name, x, y, kind=fp32, y_kind=None, transpose_x=None, transpose_y=None, **rest):
        inputs = {"x": kind(x), "y": (y_kind or kind)(y)}
        a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if transpose_x is not None:
            inputs["transpose_x"] = boolean(transpose_x)
            a = np.swapaxes(a, -1, -2) if transpose_x and a.ndim > 1 else a
        if transpose_y is not None:
            inputs["transpose_y"] = boolean(transpose_y)
            b = np.swapaxes(b, -1, -2) if transpose_y and b.ndim > 1 else b
        cases.add(name, inputs, [kind(np.matmul(a, b))], **rest)

    add("multiplies two matrices", values(3, 20), values(20, 5))
    add("multiplies two matrices in fp16", values(3, 20), values(20, 5), fp16)
    add("transposes x", values(20, 3), values(20, 5), fp16, transpose_x=True, transpose_y=False)
    add("transposes y", values(3, 20), values(5, 20), fp16, transpose_x=False, transpose_y=True)
    add("transposes both", values(20, 3), values(5, 20), transpose_x=True, transpose_y=True)
    add("multiplies one row by a long matrix", values(1, 33), values(33, 70), fp16)
    add("multiplies a long matrix by one column", values(70, 33), values(33, 1), fp16)
    add("multiplies batches", values(2, 3, 4, 17), values(2, 3, 17, 5), fp16)
    add("multiplies batches of transposed keys", values(1, 4, 1, 32), values(1, 4, 9, 32), fp16, transpose_y=True)
    add("broadcasts y over the batches of x", values(2, 3, 4, 17), values(17, 5))
    add("broadcasts x over the batches of y", values(4, 17), values(2, 3, 17, 5))
    add("broadcasts x over batches with transposed x", values(17, 4), values(3, 17, 5), transpose_x=True)
    add("broadcasts y over batches of transposed x", values(3, 17, 4), values(17, 5), transpose_x=True)
    add("broadcasts in both directions", values(2, 1, 4, 6), values(1, 3, 6, 5))
    add("broadcasts ranks 5 and 3", values(2, 1, 3, 2, 4), values(3, 4, 2))
    add("multiplies two vectors to a scalar", values(19), values(19))
    add("takes a vector as a row", values(4), values(3, 4, 2))
    add("takes a vector as a column", values(3, 2, 4), values(4))
    add("does not transpose a vector", values(4), values(4, 2), transpose_x=True)
    add("has a contraction of one", values(3, 1), values(1, 2))
    add("gives zeros for an empty contraction", values(3, 0), values(0, 2))
    add("gives nothing for no rows", values(0, 3), values(3, 2))
    add("takes a constant of another float dtype in ios17", values(3, 20), values(20, 4), fp16, fp32, opset="ios17",
        hidden_error="matmul_c4")
    ints = random.integers(-9, 9, (3, 4)), random.integers(-9, 9, (2, 4, 5))
    add("multiplies integers", *ints, kind=int32)
    add("multiplies integers with transposes", np.swapaxes(ints[0], -1, -2), np.swapaxes(ints[1], -1, -2), kind=int32,
        transpose_x=True, transpose_y=True)
    whole_numbers, floats = mixed_operands()
    constant = {"opset": "ios17", "hidden_error": "matmul_c4"}
    for kind, name in ((fp16, "fp16"), (fp32, "fp32")):
        cases.add(f"takes a constant y of {name} beside integers", {"x": int32(whole_numbers), "y": kind(floats.T)}, [whole(whole_numbers @ floats.T)], **constant)
        cases.add(f"takes a constant x of {name} beside integers", {"x": kind(floats), "y": int32(whole_numbers.T)}, [whole(floats @ whole_numbers.T)], **constant)
        cases.add(f"takes a constant y of integers beside {name}", {"x": kind(floats), "y": int32(whole_numbers.T)}, [kind(floats @ whole_numbers.T)], **constant)
        cases.add(f"takes a constant x of integers beside {name}", {"x": int32(whole_numbers), "y": kind(floats.T)}, [kind(whole_numbers @ floats.T)], **constant)
    batch = np.stack([whole_numbers, whole_numbers[::-1]])
    cases.add("takes a float constant beside batches of integers", {"x": int32(batch), "y": fp32(floats), "transpose_y": boolean(True)},
              [whole(batch @ floats.T)], **constant)
    cases.add("keeps integers that fp32 does not hold beside a float constant", {"x": int32([[2**31 - 1, -2**24 - 1]]), "y": fp32([[1, 0.5], [0, 0]])},
              [int32([[2**31 - 1, 2**30 - 1]])], **constant)
    cases.add("ends at the ends of int32 beside a float constant", {"x": int32([[2**31 - 1, 7]]), "y": fp32([[2, -2, np.inf, np.nan], [0, 0, 0, 0]])},
              [int32([[2**31 - 1, -2**31, 2**31 - 1, 0]])], **constant)
    cases.add("wraps integers around", {"x": int32([[2**31 - 1, 1]]), "y": int32([[1], [1]])}, [int32([[-2**31]])])
    big = 60000.0
    cases.add("sums beyond fp16 on the way", {"x": fp16([[big, big, -big]]), "y": fp16([[1], [1], [1]])}, [fp16([[big]])])
    cases.add("overflows fp16 to infinity", {"x": fp16([[big, big]]), "y": fp16([[1], [1]])}, [fp16([[np.inf]])])
    cases.add("passes NaN on", {"x": fp32([[np.nan, 1], [1, 1]]), "y": fp32([[1], [1]])}, [fp32([[np.nan], [2]])])

    cases.fail("rejects a scalar", {"x": fp32(1.0), "y": fp32(values(3))}, "matmul_c1")
    cases.fail("rejects contractions of two sizes", {"x": fp32(values(2, 3)), "y": fp32(values(4, 2))}, "matmul_c2")
    cases.fail("rejects vectors of two sizes", {"x": fp32(values(3)), "y": fp32(values(4))}, "matmul_c2")
    cases.fail("rejects batches that do not broadcast", {"x": fp32(values(2, 2, 3)), "y": fp32(values(3, 3, 2))}, "matmul_c3")
    cases.fail("rejects two dtypes before ios17", {"x": fp32(values(2, 3)), "y": fp16(values(3, 2))}, "matmul_c4", opset="ios16")
    cases.fail("rejects a constant of another dtype before ios17", {"x": fp32(values(2, 3)), "y": int32(np.ones((3, 2)))}, "matmul_c4", opset="ios16")
    cases.fail("rejects an output that no machine holds",
               {"x": type_only("fp16", [2**31, 1]), "y": type_only("fp16", [1, 2**31])}, "matmul_c5")
    cases.write()


def make_linear():
    cases = Cases("linear")

    def add(name, x, weight, bias=None, kind=fp32, weight_kind=None, opset=None):
        weight_kind = weight_kind or kind
        inputs = {"x": kind(x), "weight": weight_kind(weight)}
        want = np.matmul(np.asarray(x, np.float64), np.asarray(weight, np.float64).T)
        if bias is not None:
            inputs["bias"] = weight_kind(bias)
            want = want + np.asarray(bias, np.float64)
        cases.add(name, inputs, [kind(want)], opset=opset)

    add("maps a vector", values(20), values(6, 20), values(6))
    add("maps rows", values(3, 20), values(6, 20), values(6), fp16)
    add("maps batches of rows", values(2, 3, 20), values(6, 20), values(6), fp16)
    add("maps rank 4 as well", values(2, 1, 3, 20), values(6, 20), values(6))
    add("has no bias by default", values(3, 20), values(6, 20), kind=fp16)
    add("maps more rows than outputs", values(40, 9), values(2, 9), values(2))
    add("maps more rows than outputs without bias", values(40, 9), values(2, 9))
    add("maps no rows", values(0, 9), values(2, 9), values(2))
    add("gives the bias for no features", values(2, 0), values(3, 0), values(3))
    add("takes weights of another float dtype", values(3, 20), values(6, 20), values(6), fp16, fp32)
    add("works in ios15", values(3, 4), values(2, 4), values(2), opset="ios15")
    add("maps integers", random.integers(-9, 9, (3, 4)), random.integers(-9, 9, (5, 4)), random.integers(-9, 9, 5), int32)
    whole_numbers, floats = mixed_operands()
    bias = np.arange(5) - 2
    for kind, name in ((fp16, "fp16"), (fp32, "fp32")):
        cases.add(f"maps integers by weights of {name}", {"x": int32(whole_numbers), "weight": kind(floats), "bias": kind(bias / 4)},
                  [whole(whole_numbers @ floats.T + bias / 4)], opset="ios17")
        cases.add(f"maps integers by weights of {name} without bias", {"x": int32(whole_numbers), "weight": kind(floats)}, [whole(whole_numbers @ floats.T)])
        cases.add(f"maps {name} by weights of integers", {"x": kind(floats), "weight": int32(whole_numbers), "bias": int32(bias[:3])},
                  [kind(floats @ whole_numbers.T + bias[:3])], opset="ios17")

    x, w = fp32(values(3, 4)), fp32(values(2, 4))
    cases.fail("rejects a scalar", {"x": fp32(1.0), "weight": w}, "linear_c1")
    cases.fail("rejects a weight of rank 3", {"x": x, "weight": fp32(values(2, 4, 1))}, "linear_c1")
    cases.fail("rejects features that do not match", {"x": x, "weight": fp32(values(2, 5))}, "linear_c2")
    cases.fail("rejects a bias of another size", {"x": x, "weight": w, "bias": fp32(values(3))}, "linear_c3")
    cases.fail("rejects weights of another dtype before ios17", {"x": x, "weight": fp16(values(2, 4))}, "linear_c4", opset="ios16")
    cases.fail("rejects float weights for integers before ios17", {"x": int32(np.ones((3, 4))), "weight": w}, "linear_c4", opset="ios16")
    cases.fail("rejects an output that no machine holds",
               {"x": type_only("fp16", [2**31, 1]), "weight": type_only("fp16", [2**31, 1])}, "linear_c5")
    cases.write()


def make_einsum():
    cases = Cases("einsum")

    def add(name, x, y, equation, kind=fp32, numpy_equation=None):
        want = np.einsum(numpy_equation or equation, np.asarray(x, np.float64), np.asarray(y, np.float64))
        cases.add(name, {"values": [kind(x), kind(y)], "equation": text(equation)}, [kind(want)])

    four, three = "nchw,nwhu->nchu", "chw,whr->chr"
    add("multiplies along the last axis of x", values(2, 3, 4, 18), values(2, 18, 4, 5), four)
    add("multiplies in fp16", values(2, 3, 4, 18), values(2, 18, 4, 5), four, fp16)
    add("works without a batch", values(3, 4, 18), values(18, 4, 5), three, fp16)
    add("knows the equation by other letters", values(1, 3, 4, 6), values(1, 6, 4, 5), "abcd,adce->abce")
    add("ignores spaces", values(3, 4, 6), values(6, 4, 5), "c h w, w h r -> c h r", numpy_equation=three)
    x, y = values(1, 3, 4, 6), values(2, 6, 1, 5)
    want = np.einsum(four, np.broadcast_to(x, (2, 3, 4, 6)), np.broadcast_to(y, (2, 6, 4, 5)))
    cases.add("broadcasts the batch of x and the rows of y", {"values": [fp32(x), fp32(y)], "equation": text(four)}, [fp32(want)])
    x, y = values(3, 1, 6), values(6, 4, 5)
    want = np.einsum(three, np.broadcast_to(x, (3, 4, 6)), y)
    cases.add("broadcasts the rows of x", {"values": [fp32(x), fp32(y)], "equation": text(three)}, [fp32(want)])

    a, b = fp32(values(2, 3, 4, 6)), fp32(values(2, 6, 4, 5))
    cases.fail("rejects one operand", {"values": [a], "equation": text(four)}, "einsum_c1")
    cases.fail("rejects rank 2", {"values": [fp32(values(2, 3)), fp32(values(3, 2))], "equation": text("ab,bc->ac")}, "einsum_c2")
    cases.fail("rejects other equations", {"values": [a, b], "equation": text("nchw,nhwu->nchu")}, "einsum_c3")
    cases.fail("rejects an equation of another rank", {"values": [a, b], "equation": text(three)}, "einsum_c3")
    cases.fail("rejects contractions of two sizes", {"values": [a, fp32(values(2, 7, 4, 5))], "equation": text(four)}, "einsum_c4")
    cases.fail("rejects batches that do not broadcast", {"values": [a, fp32(values(3, 6, 4, 5))], "equation": text(four)}, "einsum_c5")
    cases.fail("rejects two dtypes", {"values": [a, fp16(values(2, 6, 4, 5))], "equation": text(four)}, "values")
    cases.fail("rejects an output that no machine holds",
               {"values": [type_only("fp32", [2**20, 2, 1]), type_only("fp32", [1, 2, 2**30])], "equation": text(three)}, "einsum_c6")
    cases.write()


make_conv()
make_matmul()
make_linear()
make_einsum()

# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category pool and of conv_transpose. Run: python3 tests/ops/make_pool.py"""

import itertools

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, text, type_only

random = np.random.default_rng(17)


def values(*shape):
    return np.round(random.standard_normal(shape) * 16) / 16


def same_pad(n, k, s, lower):
    total = max((-(-n // s) - 1) * s + k - n, 0)
    before = total - total // 2 if lower else total // 2
    return before, total - before


def pool(op, x, kernel_sizes, strides=None, pad_type="valid", pad=None, ceil_mode=False,
         exclude_padding_from_average=False):
    """Plain loops in float64 over the windows of every channel."""
    x = np.asarray(x, np.float64)
    spatial = x.ndim - 2
    strides = strides or [1] * spatial
    borders, sizes = [], []
    for i, (n, k, s) in enumerate(zip(x.shape[2:], kernel_sizes, strides)):
        border = (0, 0)
        if pad_type == "custom":
            border = (pad[2 * i], pad[2 * i + 1])
        elif pad_type.startswith("same"):
            border = same_pad(n, k, s, pad_type == "same_lower")
        room = n + sum(border) - k
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and border[0] > 0 and (count - 1) * s >= n + border[0]:
            count -= 1
        borders.append(border)
        sizes.append(count)
    out = np.zeros(x.shape[:2] + tuple(sizes))
    for n, c in itertools.product(*map(range, x.shape[:2])):
        for place in itertools.product(*map(range, sizes)):
            starts = [p * s - b[0] for p, s, b in zip(place, strides, borders)]
            inside = tuple(slice(max(a, 0), max(min(a + k, m), 0)) for a, k, m in zip(starts, kernel_sizes, x.shape[2:]))
            cells = x[(n, c) + inside]
            padded = np.prod([max(min(a + k, m + b[1]) - a, 0) for a, k, m, b in zip(starts, kernel_sizes, x.shape[2:], borders)])
            if op == "max_pool":
                out[(n, c) + place] = cells.max() if cells.size else -np.inf
            elif op == "l2_pool":
                out[(n, c) + place] = np.sqrt(np.sum(cells**2))
            else:
                count = cells.size if exclude_padding_from_average else padded
                out[(n, c) + place] = cells.sum() / count if count else 0
    return out


def make_pool(op):
    cases = Cases(op)

    def add(name, x, kind=fp32, opset=None, **parameters):
        inputs = {"x": kind(x), "pad_type": text(parameters.get("pad_type", "valid"))}
        for key, value in parameters.items():
            if key != "pad_type":
                inputs[key] = boolean(value) if isinstance(value, bool) else int32(value)
        cases.add(name, inputs, [kind(pool(op, kind(x), **parameters))], opset=opset)

    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        add(f"slides over one axis in {name}", values(2, 3, 9), kind, kernel_sizes=[3], strides=[2])
        add(f"slides over two axes in {name}", values(1, 2, 5, 6), kind, kernel_sizes=[2, 3], opset="ios15")
    if op != "l2_pool":
        add("slides over three axes", values(1, 2, 4, 3, 5), kernel_sizes=[2, 1, 3], strides=[2, 1, 1])
    add("covers all of x", values(2, 3, 4, 5), kernel_sizes=[4, 5])
    add("pads as it is told", values(1, 2, 5, 4), kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 0, 2, 1])
    add("ignores pad when the type is valid", values(1, 2, 5), kernel_sizes=[2], pad=[1, 1])
    add("pads to the same size", values(1, 2, 7, 6), kernel_sizes=[3, 4], strides=[2, 1], pad_type="same")
    add("puts the odd cell of the padding first", values(1, 2, 7, 6), kernel_sizes=[2, 4], pad_type="same_lower")
    add("keeps a window that is not full", values(1, 2, 6, 5), kernel_sizes=[3, 2], strides=[2, 2], ceil_mode=True)
    add("drops a window that is padding alone", values(1, 1, 4), kernel_sizes=[2], strides=[2], pad_type="custom", pad=[1, 1], ceil_mode=True)
    add("keeps a padded window that is not full", values(1, 2, 6, 6), kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1], ceil_mode=True)
    add("has windows of nothing where strides are wider than the window", values(1, 1, 5), kernel_sizes=[1], strides=[4], pad_type="custom", pad=[3, 3])
    cases.add("takes no pictures", {"x": fp32(np.zeros((0, 2, 4))), "kernel_sizes": int32([2]), "pad_type": text("valid")}, [fp32(np.zeros((0, 2, 3)))])
    if op == "avg_pool":
        for pad_type, pad in (("custom", [1, 2, 0, 1]), ("same", None)):
            extra = {"pad": pad} if pad else {}
            add(f"leaves out the padding of {pad_type}", values(1, 2, 5, 6), kernel_sizes=[3, 3], strides=[2, 1], pad_type=pad_type,
                exclude_padding_from_average=True, **extra)
        add("leaves out the padding of windows that are not full", values(1, 2, 6, 6), kernel_sizes=[3, 3], strides=[2, 2], pad_type="custom",
            pad=[1, 1, 1, 1], ceil_mode=True, exclude_padding_from_average=True)
        add("sums halves in fp32", np.full((1, 1, 64, 64), 1000.0), fp16, kernel_sizes=[64, 64])
    if op == "max_pool":
        x = np.array([[[-5, np.nan, 1, -np.inf, -np.inf]]])
        cases.add("lets NaN win and padding lose",
                  {"x": fp32(x), "kernel_sizes": int32([2]), "pad_type": text("custom"), "pad": int32([1, 0])},
                  [fp32([[[-5, np.nan, np.nan, 1, -np.inf]]])])

    x, valid, kernel = fp32(values(1, 2, 5, 5)), text("valid"), int32([2, 2])
    cases.fail("rejects rank 2 (c1)", {"x": fp32(values(4, 5)), "kernel_sizes": int32([]), "pad_type": valid}, op + "_c1")
    big = [1, 1, 2, 2, 2, 2] if op != "l2_pool" else [1, 1, 2, 2, 2]
    cases.fail("rejects too many axes (c1)", {"x": type_only("fp32", big), "kernel_sizes": int32([1] * (len(big) - 2)), "pad_type": valid}, op + "_c1")
    cases.fail("rejects a kernel of another rank (c2)", {"x": x, "kernel_sizes": int32([2]), "pad_type": valid}, op + "_c2")
    cases.fail("rejects an empty kernel (c2)", {"x": x, "kernel_sizes": int32([2, 0]), "pad_type": valid}, op + "_c2")
    cases.fail("rejects ceil_mode with same (c4)", {"x": x, "kernel_sizes": kernel, "pad_type": text("same"), "ceil_mode": boolean(True)}, op + "_c4")
    cases.fail("rejects ceil_mode with another pad on each side (c4)",
               {"x": x, "kernel_sizes": kernel, "pad_type": text("custom"), "pad": int32([0, 1, 0, 0]), "ceil_mode": boolean(True)}, op + "_c4")
    cases.fail("rejects zero strides (c5)", {"x": x, "kernel_sizes": kernel, "pad_type": valid, "strides": int32([1, 0])}, op + "_c5")
    cases.fail("rejects an unknown pad type (c6)", {"x": x, "kernel_sizes": kernel, "pad_type": text("full")}, op + "_c6")
    cases.fail("rejects same_lower in ios15 (c6)", {"x": x, "kernel_sizes": kernel, "pad_type": text("same_lower")}, op + "_c6", opset="ios15")
    cases.fail("rejects negative padding (c7)", {"x": x, "kernel_sizes": kernel, "pad_type": text("custom"), "pad": int32([0, 0, -1, 0])}, op + "_c7")
    cases.fail("rejects a window larger than x (c7)", {"x": x, "kernel_sizes": int32([6, 1]), "pad_type": valid}, op + "_c7")
    cases.fail("rejects a huge window (c7)", {"x": x, "kernel_sizes": int32([2147483647, 1]), "pad_type": valid, "ceil_mode": boolean(True)}, op + "_c7")
    cases.fail("rejects a result that no machine holds (c8)",
               {"x": x, "kernel_sizes": int32([1, 1]), "pad_type": text("custom"), "pad": int32([2147483647] * 4)}, op + "_c8")
    cases.fail("rejects integers", {"x": int32(np.zeros((1, 1, 3))), "kernel_sizes": int32([1]), "pad_type": valid}, "cannot be")
    cases.write()


def conv_transpose(x, weight, bias=None, strides=None, pad_type="valid", pad=None, dilations=None, groups=1, output_shape=None):
    """Every input element spreads over its window, in float64."""
    x, weight = np.asarray(x, np.float64), np.asarray(weight, np.float64)
    spatial = x.ndim - 2
    strides, dilations = strides or [1] * spatial, dilations or [1] * spatial
    before, sizes = [], []
    for i in range(spatial):
        n, k, s, d = x.shape[2 + i], weight.shape[2 + i], strides[i], dilations[i]
        full = (n - 1) * s + (k - 1) * d + 1
        cut = (pad[2 * i], pad[2 * i + 1]) if pad_type == "custom" else (0, 0)
        size = n * s if pad_type == "same" else full - sum(cut)
        if output_shape is not None:
            size = output_shape[2 + i]
        before.append(max(full - size, 0) // 2 if pad_type == "same" else cut[0])
        sizes.append(size)
    out = np.zeros([x.shape[0], weight.shape[1] * groups] + sizes)
    group_in, group_out = x.shape[1] // groups, weight.shape[1]
    for n, c, o in itertools.product(range(x.shape[0]), range(x.shape[1]), range(group_out)):
        for place in itertools.product(*map(range, x.shape[2:])):
            for cell in itertools.product(*map(range, weight.shape[2:])):
                to = tuple(p * s + k * d - b for p, s, k, d, b in zip(place, strides, cell, dilations, before))
                if all(0 <= t < m for t, m in zip(to, sizes)):
                    out[(n, c // group_in * group_out + o) + to] += x[(n, c) + place] * weight[(c, o) + cell]
    if bias is not None:
        out += np.asarray(bias, np.float64).reshape([1, -1] + [1] * spatial)
    return out


def make_conv_transpose():
    cases = Cases("conv_transpose")

    def add(name, x, weight, kind=fp32, weight_kind=None, bias=None, opset=None, hidden_error=None, **parameters):
        weight_kind = weight_kind or kind
        inputs = {"x": kind(x), "weight": weight_kind(weight)}
        if bias is not None:
            inputs["bias"] = weight_kind(bias)
        for key, value in parameters.items():
            inputs[key] = text(value) if isinstance(value, str) else int32(value)
        # Sums of opposite signs may cancel: some roundings of the largest product.
        cases.add(name, inputs, [kind(conv_transpose(x, weight, bias, **parameters))], opset=opset, hidden_error=hidden_error,
                  tolerance={"abs": 1e-5, "rel": 1e-5} if kind is fp32 else None)

    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        add(f"spreads over one axis in {name}", values(2, 3, 5), values(3, 4, 3), kind, strides=[2], bias=values(4))
        add(f"spreads over two axes in {name}", values(1, 2, 3, 4), values(2, 3, 2, 3), kind, strides=[2, 3])
    add("spreads over three axes", values(1, 2, 2, 3, 2), values(2, 2, 2, 1, 3), strides=[1, 2, 2])
    add("spreads in groups", values(1, 4, 5), values(4, 3, 2), groups=2, bias=values(6))
    add("has one kernel a channel", values(1, 3, 4, 4), values(3, 1, 3, 3), groups=3, strides=[2, 2], pad_type="custom", pad=[1, 1, 1, 1])
    add("dilates", values(1, 2, 4, 4), values(2, 2, 2, 3), dilations=[3, 2], strides=[1, 2])
    add("cuts as it is told", values(1, 2, 4, 5), values(2, 2, 3, 3), pad_type="custom", pad=[1, 0, 2, 1], strides=[2, 2])
    add("ignores pad when the type is valid", values(1, 2, 4), values(2, 2, 3), pad=[1, 1])
    add("makes the same size", values(1, 2, 4, 5), values(2, 2, 3, 4), pad_type="same", strides=[2, 1])
    add("makes the same size where strides are wider than the kernel", values(1, 2, 4), values(2, 2, 1), pad_type="same", strides=[3])
    add("makes the shape that it is given", values(1, 2, 4, 4), values(2, 3, 3, 3), pad_type="same", strides=[2, 2], output_shape=[1, 3, 7, 8])
    add("fills up the shape that it is given", values(1, 2, 3), values(2, 1, 2), strides=[2], output_shape=[1, 1, 9])
    add("takes weights of another float dtype", values(1, 2, 4), values(2, 2, 3), fp16, fp32, bias=values(2))
    add("works in ios15", values(1, 2, 4), values(2, 2, 3), bias=values(2), opset="ios15", hidden_error="conv_transpose_c9")
    cases.add("takes no pictures", {"x": fp32(np.zeros((0, 2, 4))), "weight": fp32(values(2, 3, 2))}, [fp32(np.zeros((0, 3, 5)))])

    x, w, op = fp32(values(1, 4, 5)), fp32(values(4, 2, 3)), "conv_transpose"
    cases.fail("rejects rank 2 (c1)", {"x": fp32(values(4, 5)), "weight": fp32(values(4, 2))}, op + "_c1")
    cases.fail("rejects an empty kernel (c1)", {"x": x, "weight": fp32(values(4, 2, 0))}, op + "_c1")
    cases.fail("rejects channels that do not match (c2)", {"x": x, "weight": fp32(values(3, 2, 3))}, op + "_c2")
    cases.fail("rejects zero groups (c2)", {"x": x, "weight": w, "groups": int32(0)}, op + "_c2")
    cases.fail("rejects groups that do not divide the channels (c2)", {"x": x, "weight": w, "groups": int32(3)}, op + "_c2")
    cases.fail("rejects more output channels than there may be (c3)",
               {"x": type_only("fp32", [1, 1 << 30, 4]), "weight": type_only("fp32", [1 << 30, 1 << 30, 1]), "groups": int32(1 << 30)}, op + "_c3")
    cases.fail("rejects a bias of another size (c4)", {"x": x, "weight": w, "bias": fp32(values(3))}, op + "_c4")
    cases.fail("rejects zero strides (c5)", {"x": x, "weight": w, "strides": int32([0])}, op + "_c5")
    cases.fail("rejects same_lower (c6)", {"x": x, "weight": w, "pad_type": text("same_lower")}, op + "_c6")
    cases.fail("rejects padding of one side only (c7)", {"x": x, "weight": w, "pad_type": text("custom"), "pad": int32([1])}, op + "_c7")
    cases.fail("rejects to cut everything (c7)", {"x": x, "weight": w, "pad_type": text("custom"), "pad": int32([4, 3])}, op + "_c7")
    cases.fail("rejects huge strides (c7)", {"x": type_only("fp32", [1, 4, 1 << 30]), "weight": w, "strides": int32([2147483647])}, op + "_c7")
    cases.fail("rejects an output_shape of another rank (c8)", {"x": x, "weight": w, "output_shape": int32([1, 2])}, op + "_c8")
    cases.fail("rejects an output_shape of other channels (c8)", {"x": x, "weight": w, "output_shape": int32([1, 3, 7])}, op + "_c8")
    cases.fail("rejects weights of another dtype before ios17 (c9)", {"x": x, "weight": fp16(values(4, 2, 3))}, op + "_c9", opset="ios16")
    cases.fail("rejects a bias of another dtype than the weight (c9)", {"x": x, "weight": w, "bias": fp16(values(2))}, op + "_c9")
    cases.fail("rejects an output that no machine holds (c10)",
               {"x": fp32(values(1, 1, 1, 1)), "weight": fp32(values(1, 1, 1, 1)), "output_shape": int32([1, 1, 2147483647, 2147483647])}, op + "_c10")
    cases.write()


for op in ("avg_pool", "l2_pool", "max_pool"):
    make_pool(op)
make_conv_transpose()

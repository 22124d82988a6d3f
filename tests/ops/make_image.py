# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the resize family, in float64. make_boxes.py has the rest of the category image.
Run: python3 tests/ops/make_image.py"""

import itertools

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

random = np.random.default_rng(31)
MODES = ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS", "UNALIGN_CORNERS")


def values(*shape):
    return np.round(random.standard_normal(shape) * 16) / 16


def grid(mode, size, count):
    """The points as coremltools documents them for resize_bilinear."""
    i = np.arange(count)
    if mode == "ALIGN_CORNERS" and count == 1:
        return np.array([(size - 1) / 2])
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        points = i * (size - 1) / max(count - 1, 1)
    elif mode == "DEFAULT":
        points = i * size / count
    elif mode == "OFFSET_CORNERS":
        points = (i + 0.5) * max(1, size - 1) / count
    else:
        points = (i + 0.5) * size / count - 0.5
    return np.clip(points, 0, size - 1)


def linear(x, axis, points):
    low = np.floor(points).astype(int)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    weight = (points - low).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return (1 - weight) * np.take(x, low, axis) + weight * np.take(x, high, axis)


def nearest(x, axis, points):
    return np.take(x, np.minimum(np.floor(points + 0.5).astype(int), x.shape[axis] - 1), axis)


def resized(x, sizes, mode, sample=linear):
    """The last axes of x, as many as there are sizes."""
    x = np.asarray(x, np.float64)
    for i, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + i
        x = sample(x, axis, grid(mode, x.shape[axis], size))
    return x


def floored(x, sizes):
    for axis, size in ((-2, sizes[0]), (-1, sizes[1])):
        x = np.take(x, np.arange(size) * x.shape[axis] // size, axis)
    return x


def common_failures(cases, op, given):
    cases.fail("rejects rank 2 (c1)", {"x": fp32(values(3, 4)), **given}, op + "_c1")
    if op.startswith("resize"):
        cases.fail("rejects to make something of nothing (c2)", {"x": fp32(np.zeros((1, 2, 0))), **given}, op + "_c2")
    cases.fail("rejects integers", {"x": int32(np.zeros((1, 2, 2))), **given}, "cannot be")


SIZES = ((5, 7), (2, 3), (1, 1), (3, 4), (6, 8), (1, 9))


def make_resize_bilinear():
    cases = Cases("resize_bilinear")
    size = lambda h, w: {"target_size_height": int32(h), "target_size_width": int32(w)}
    for mode, (h, w) in itertools.product(MODES, SIZES):
        x = values(2, 3, 4)
        cases.add(f"samples {h} by {w}, {mode}", {"x": fp32(x), **size(h, w), "sampling_mode": text(mode)}, [fp32(resized(x, (h, w), mode))])
    for mode in MODES:
        x = values(1, 2, 3, 5)
        cases.add(f"samples halves, {mode}", {"x": fp16(x), **size(4, 8), "sampling_mode": text(mode)}, [fp16(resized(x, (4, 8), mode))])
    cases.add("has defaults", {"x": fp32(x)}, [fp32(resized(x, (1, 1), "DEFAULT"))])
    # These cases come from the documentation of coremltools.
    x = fp32([[[0, 1]]])
    for mode, points in (("STRICT_ALIGN_CORNERS", [0, 0.25, 0.5, 0.75, 1]), ("DEFAULT", [0, 0.4, 0.8, 1, 1]),
                         ("OFFSET_CORNERS", [0.1, 0.3, 0.5, 0.7, 0.9]), ("UNALIGN_CORNERS", [0, 0.1, 0.5, 0.9, 1])):
        cases.add(f"samples what the documentation says, {mode}", {"x": x, **size(1, 5), "sampling_mode": text(mode)}, [fp32([[points]])])
    x = fp32([[[1, np.inf, 2, np.nan]]])
    cases.add("does not look beside a point that is an element", {"x": x, **size(1, 4), "sampling_mode": text("STRICT_ALIGN_CORNERS")}, [x])
    cases.add("takes no pictures", {"x": fp32(np.zeros((0, 2, 2))), **size(3, 3)}, [fp32(np.zeros((0, 3, 3)))])
    common_failures(cases, "resize_bilinear", size(2, 2))
    x = fp32(values(1, 2, 2))
    cases.fail("rejects a size of 0 (c2)", {"x": x, **size(0, 2)}, "resize_bilinear_c2")
    cases.fail("rejects a vector of sizes (c2)", {"x": x, "target_size_height": int32([2, 2])}, "resize_bilinear_c2")
    cases.fail("rejects a result that no machine holds (c2)", {"x": x, **size(2147483647, 2147483647)}, "resize_bilinear_c2")
    cases.fail("rejects an unknown mode (c3)", {"x": x, **size(2, 2), "sampling_mode": text("CORNERS")}, "resize_bilinear_c3")
    cases.write()


def make_resize_nearest():
    cases = Cases("resize_nearest_neighbor")
    size = lambda h, w: {"target_size_height": int32(h), "target_size_width": int32(w)}
    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        for h, w in SIZES:
            x = values(2, 3, 4)
            cases.add(f"takes the nearest of {name} for {h} by {w}", {"x": kind(x), **size(h, w)}, [kind(resized(x, (h, w), "UNALIGN_CORNERS", nearest))])
    x = np.array([[[0.37, 6.17]]])
    cases.add("takes the middle of each cell", {"x": fp32(x), **size(1, 3)}, [fp32([[[0.37, 6.17, 6.17]]])])
    common_failures(cases, "resize_nearest_neighbor", size(2, 2))
    cases.fail("rejects a size of 0 (c2)", {"x": fp32(values(1, 2, 2)), **size(2, 0)}, "resize_nearest_neighbor_c2")
    cases.write()


def make_upsample():
    scale = lambda h, w, make: {"scale_factor_height": make(h), "scale_factor_width": make(w)}
    size = lambda x, h, w: (int(np.floor(np.float32(h) * x.shape[-2])), int(np.floor(np.float32(w) * x.shape[-1])))
    fractions = ((1.5, 2.25), (3.17, 0.67), (0.5, 0.25), (1.0, 1.12))
    for op in ("upsample_nearest_neighbor", "upsample_bilinear"):
        cases = Cases(op)
        sample = floored if op == "upsample_nearest_neighbor" else lambda x, s: resized(x, s, "STRICT_ALIGN_CORNERS")
        for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
            x = values(2, 3, 2, 4)
            cases.add(f"scales {name} by whole numbers", {"x": kind(x), **scale(2, 3, int32)}, [kind(sample(x, (4, 12)))])
            for h, w in fractions:
                cases.add(f"scales {name} by {h} and {w}", {"x": kind(x), **scale(h, w, fp32)}, [kind(sample(x, size(x, h, w)))])
        cases.add("has a scale of 1 by default", {"x": fp32(x)}, [fp32(x)])
        cases.add("takes a scale for one axis", {"x": fp32(x), "scale_factor_width": int32(2)}, [fp32(sample(x, (2, 8)))])
        # 0.7 as fp32 is below 0.7; the product is rounded to 7 before it is cut.
        x = values(1, 1, 10)
        cases.add("multiplies in fp32", {"x": fp32(x), **scale(1, 0.7, fp32)}, [fp32(sample(x, (1, 7)))])
        cases.add("takes no pictures", {"x": fp32(np.zeros((0, 2, 2))), **scale(2, 2, int32)}, [fp32(np.zeros((0, 4, 4)))])
        if op == "upsample_bilinear":
            x = values(2, 3, 4)
            for aligned, mode in ((True, "STRICT_ALIGN_CORNERS"), (False, "UNALIGN_CORNERS")):
                cases.add(f"has align_corners {aligned}", {"x": fp32(x), **scale(2, 3, int32), "align_corners": boolean(aligned)},
                          [fp32(resized(x, (6, 12), mode))], opset="ios15")
            for half, mode in ((True, "UNALIGN_CORNERS"), (False, "DEFAULT")):
                cases.add(f"has half_pixel_centers {half}", {"x": fp32(x), **scale(2, 3, int32), "align_corners": boolean(False), "half_pixel_centers": boolean(half)},
                          [fp32(resized(x, (6, 12), mode))], opset="ios16")
            cases.fail("rejects half_pixel_centers before ios16", {"x": fp32(x), "half_pixel_centers": boolean(True)}, "ios16", opset="ios15")
            cases.fail("rejects aligned corners with half pixels (c3)", {"x": fp32(x), "half_pixel_centers": boolean(True)}, op + "_c3")
        common_failures(cases, op, scale(2, 2, int32))
        x = fp32(values(1, 2, 2))
        for what, bad in (("zero", 0.0), ("negative", -1.0), ("nan", np.nan), ("infinite", np.inf), ("huge", 1e30), ("tiny", 0.25)):
            cases.fail(f"rejects a {what} scale (c2)", {"x": x, **scale(1, bad, fp32)}, op + "_c2")
        cases.fail("rejects scales of two dtypes", {"x": x, "scale_factor_height": int32(2), "scale_factor_width": fp32(2)}, "parameter")
        cases.write()


def make_resize():
    cases = Cases("resize")
    dims = lambda n: {"resized_dims": tensor("uint32", n)}
    way = lambda interpolation, mode: {"interpolation_mode": text(interpolation), "sampling_mode": text(mode)}
    for mode, (h, w) in itertools.product(MODES, SIZES[:4]):
        x = values(2, 3, 4)
        cases.add(f"interpolates {h} by {w}, {mode}", {"x": fp32(x), "shape": int32([9, h, w]), **dims(2), **way("LINEAR", mode)},
                  [fp32(resized(x, (h, w), mode))])
        # DEFAULT is the nearest neighbour of resize_nearest_neighbor.
        points = "UNALIGN_CORNERS" if mode == "DEFAULT" else mode
        cases.add(f"takes the nearest for {h} by {w}, {mode}", {"x": fp32(x), "shape": int32([h, w]), **dims(2), **way("NEAREST_NEIGHBOR", mode)},
                  [fp32(resized(x, (h, w), points, nearest))])
    x = values(2, 3, 4)
    cases.add("has defaults", {"x": fp16(x), "shape": int32([6, 8]), **dims(2)}, [fp16(resized(x, (6, 8), "DEFAULT"))])
    cases.add("keeps the sizes of zeros", {"x": fp32(x), "shape": int32([0, 8]), **dims(2)}, [fp32(resized(x, (3, 8), "DEFAULT"))])
    cases.add("resizes one axis", {"x": fp32(x), "shape": int32([7, 7, 6]), **dims(1)}, [fp32(resized(x, (6,), "DEFAULT"))])
    cases.add("resizes three axes", {"x": fp32(x), "shape": int32([3, 2, 6]), **dims(3)}, [fp32(resized(x, (3, 2, 6), "DEFAULT"))])
    cases.add("resizes nothing", {"x": fp32(x), "shape": int32([3, 2]), **dims(0)}, [fp32(x)])
    for dtype in ("int16", "uint16", "uint32"):
        cases.add(f"takes a shape of {dtype}", {"x": fp32(x), "shape": tensor(dtype, [6, 2]), **dims(2)}, [fp32(resized(x, (6, 2), "DEFAULT"))])
    big = np.array([[16777217, -16777219, 2147483647]])
    cases.add("moves int32", {"x": int32(big), "shape": int32([6]), **dims(1), **way("NEAREST_NEIGHBOR", "DEFAULT")}, [int32(np.repeat(big, 2, 1))])
    cases.add("rounds int32", {"x": int32([[0, 10, -10]]), "shape": int32([7]), **dims(1), **way("LINEAR", "STRICT_ALIGN_CORNERS")},
              [int32(np.rint(resized([[0, 10, -10]], (7,), "STRICT_ALIGN_CORNERS")))])
    x = fp32(x)
    cases.fail("rejects a shape of rank 2 (c1)", {"x": x, "shape": int32([[2, 2]]), **dims(2)}, "resize_c1")
    cases.fail("rejects a longer shape than x has (c1)", {"x": x, "shape": int32([1, 1, 1, 1]), **dims(2)}, "resize_c1")
    cases.fail("rejects more axes than the shape has (c2)", {"x": x, "shape": int32([2, 2]), **dims(3)}, "resize_c2")
    cases.fail("rejects more axes than x has (c2)", {"x": x, "shape": type_only("int32", [-1]), **dims(4)}, "resize_c2")
    cases.fail("rejects an unknown interpolation (c3)", {"x": x, "shape": int32([2, 2]), **dims(2), **way("CUBIC", "DEFAULT")}, "resize_c3")
    cases.fail("rejects an unknown mode (c3)", {"x": x, "shape": int32([2, 2]), **dims(2), **way("LINEAR", "CORNERS")}, "resize_c3")
    cases.fail("rejects a negative size (c4)", {"x": x, "shape": int32([2, -1]), **dims(2)}, "resize_c4")
    cases.fail("rejects to make something of nothing (c4)", {"x": fp32(np.zeros((2, 0))), "shape": int32([2]), **dims(1)}, "resize_c4")
    cases.fail("rejects a result that no machine holds (c4)", {"x": x, "shape": int32([2147483647, 2147483647]), **dims(2)}, "resize_c4")
    cases.fail("rejects ios16", {"x": x, "shape": int32([2]), **dims(1)}, "ios17", opset="ios16")
    cases.write()


make_resize_bilinear()
make_resize_nearest()
make_upsample()
make_resize()

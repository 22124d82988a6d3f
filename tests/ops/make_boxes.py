# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the sampling at given places and of boxes, in float64. The numbers of the cases that say so are
from the tests of coremltools. Run: python3 tests/ops/make_boxes.py"""

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

random = np.random.default_rng(37)


def values(*shape):
    return np.round(random.standard_normal(shape) * 16) / 16


def pixel(plane, row, column, fill):
    inside = 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]
    return plane[int(row), int(column)] if inside else fill


def bilinear(plane, row, column, fill=0.0):
    r, c = np.floor(row), np.floor(column)
    down, right = row - r, column - c
    return sum(weight * pixel(plane, r + i, c + j, fill)
               for i, j, weight in ((0, 0, (1 - down) * (1 - right)), (0, 1, (1 - down) * right),
                                    (1, 0, down * (1 - right)), (1, 1, down * right)) if weight)


def mirrored(place, low, high):
    """Walks to and fro between low and high."""
    if high <= low:
        return low
    away = (place - low) % (2 * (high - low))
    return low + min(away, 2 * (high - low) - away)


def move(place, size, padding):
    if padding == "reflection":
        place = mirrored(place, 0, size - 1)
    if padding == "symmetric":
        place = mirrored(place, -0.5, size - 0.5)
    return place if padding == "constant" else min(max(place, 0), size - 1)


def place_of(value, size, mode, aligned):
    if mode == "unnormalized":
        return value
    share = value if mode == "normalized_zero_to_one" else (value + 1) / 2
    return share * (size - 1) if aligned else share * size - 0.5


def resample(x, at, sampling, padding, fill, mode, aligned):
    x, at = np.asarray(x, np.float64), np.asarray(at, np.float64)
    out = np.zeros(x.shape[:2] + at.shape[1:3])
    for b, c, i, j in np.ndindex(out.shape):
        row = move(place_of(at[b, i, j, 1], x.shape[2], mode, aligned), x.shape[2], padding)
        column = move(place_of(at[b, i, j, 0], x.shape[3], mode, aligned), x.shape[3], padding)
        near = sampling == "nearest"
        out[b, c, i, j] = pixel(x[b, c], np.rint(row), np.rint(column), fill) if near else bilinear(x[b, c], row, column, fill)
    return out


def make_resample():
    cases = Cases("resample")

    def given(x, at, sampling="bilinear", padding="constant", fill=fp32(0.5), mode="normalized_minus_one_to_one", aligned=True):
        return {"x": x, "coordinates": at, "sampling_mode": text(sampling), "padding_mode": text(padding), "padding_value": fill,
                "coordinates_mode": text(mode), "align_corners": boolean(aligned)}

    for sampling in ("bilinear", "nearest"):
        for padding in ("constant", "border", "reflection", "symmetric"):
            for mode, scale in (("unnormalized", 6), ("normalized_minus_one_to_one", 1.8), ("normalized_zero_to_one", 1.4)):
                for aligned in (True, False):
                    # Odd 32nds: never half between two pixels, where nearest would depend on roundings.
                    x, at = values(1, 2, 3, 4), (np.floor(random.uniform(-16, 16, (1, 2, 3, 2))) + 0.5) / 16 * scale
                    at = fp32(at)
                    cases.add(f"samples {sampling}, {padding}, {mode}, {'aligned' if aligned else 'not aligned'}",
                              given(fp32(x), at, sampling, padding, fp32(0.5), mode, aligned),
                              [fp32(resample(x, at, sampling, padding, 0.5, mode, aligned))],
                              tolerance={"abs": 1e-5, "rel": 1e-5})
    x = values(2, 2, 3, 3)
    at = values(2, 2, 2, 2)
    cases.add("samples halves", given(fp16(x), fp16(at), fill=fp16(2)), [fp16(resample(x, at, "bilinear", "constant", 2, "normalized_minus_one_to_one", True))])
    for dtype in ("int32", "int8", "uint8", "int16", "uint16"):
        at = random.integers(0, 4, (2, 1, 3, 2))
        cases.add(f"takes coordinates of {dtype}", given(fp32(x), tensor(dtype, at), mode="unnormalized"),
                  [fp32(resample(x, at, "bilinear", "constant", 0.5, "unnormalized", True))])
    # This case comes from the tests of coremltools.
    x, at = fp32(np.reshape([11, 22, 33, 44], (1, 1, 2, 2))), fp32(np.reshape([-1, -2, -3.7, -1, 0, 0, 3.5, 1.2], (1, 2, 2, 2)))
    for padding, fill, sampling, mode, aligned, want in (
        ("constant", 6.17, "bilinear", "normalized_minus_one_to_one", True, [8.585, 6.17, 27.5, 6.17]),
        ("border", -1, "nearest", "unnormalized", False, [11, 11, 11, 44]),
        ("reflection", -1, "bilinear", "normalized_zero_to_one", True, [22, 36.3, 11, 34.1]),
        ("symmetric", -1, "nearest", "normalized_zero_to_one", False, [22, 33, 11, 33]),
    ):
        cases.add(f"gives the numbers of the tests of coremltools, {padding}", given(x, at, sampling, padding, fp32(fill), mode, aligned),
                  [fp32(np.reshape(want, (1, 1, 2, 2)))], tolerance={"abs": 1e-5, "rel": 1e-5})
    wild = fp32(np.reshape([np.nan, 0, np.inf, 0, 0, -np.inf, 1e30, 0], (1, 2, 2, 2)))
    cases.add("takes coordinates that are no numbers for outside", given(x, wild), [fp32(np.full((1, 1, 2, 2), 0.5))])
    cases.add("moves coordinates that are no numbers to the first pixel", given(x, wild, padding="reflection", mode="unnormalized", sampling="nearest"),
              [fp32(np.reshape([11, 11, 11, resample(x, wild.array[:, 1:, 1:] * 0 + [1e30, 0], "nearest", "reflection", 0, "unnormalized", True)[0, 0, 0, 0]], (1, 1, 2, 2)))])
    far = fp32(np.reshape([np.inf, 0, -np.inf, 1, 0, np.inf, 1, -np.inf, 1e30, np.inf, np.nan, 1], (1, 2, 3, 2)))
    for sampling in ("bilinear", "nearest"):
        for mode, want in (("unnormalized", [22, 33, 33, 22, 44, 33]), ("normalized_zero_to_one", [22, 33, 33, 22, 44, 33])):
            cases.add(f"moves infinite coordinates to the border, {sampling}, {mode}", given(x, far, padding="border", mode=mode, sampling=sampling),
                      [fp32(np.reshape(want, (1, 1, 2, 3)))])
    cases.add("takes no places", given(x, fp32(np.zeros((1, 0, 2, 2)))), [fp32(np.zeros((1, 1, 0, 2)))])
    cases.fail("rejects fp16 coordinates in ios15 (c1)", given(x, fp16(at)), "resample_c1", opset="ios15")
    cases.fail("rejects int8 coordinates before ios17 (c1)", given(x, tensor("int8", at)), "resample_c1", opset="ios16")
    cases.fail("rejects rank 3 (c2)", given(fp32(values(1, 2, 2)), at), "resample_c2")
    cases.fail("rejects no pixels (c2)", given(fp32(values(1, 2, 0, 2)), at), "resample_c2")
    cases.fail("rejects coordinates of another batch (c3)", given(x, fp32(values(2, 1, 1, 2))), "resample_c3")
    cases.fail("rejects coordinates in space (c3)", given(x, fp32(values(1, 1, 1, 3))), "resample_c3")
    for name in ("sampling_mode", "padding_mode", "coordinates_mode"):
        cases.fail(f"rejects an unknown {name} (c4)", {**given(x, at), name: text("other")}, "resample_c4")
    cases.fail("rejects a vector to pad with (c5)", given(x, at, fill=fp32([1, 2])), "resample_c5")
    cases.fail("rejects a result that no machine holds (c6)", given(x, type_only("fp32", [1, 1 << 20, 1 << 21, 2])), "resample_c6")
    cases.write()


def affine(x, matrix, height, width, aligned=True):
    x, matrix = np.asarray(x, np.float64), np.asarray(matrix, np.float64)
    line = lambda n: (np.linspace(-1, 1, n) if n > 1 else np.zeros(1)) if aligned else (2 * np.arange(n) + 1) / n - 1
    v, u = np.meshgrid(line(height), line(width), indexing="ij")
    m = np.broadcast_to(matrix, (x.shape[0], 6))
    at = np.stack([np.stack([a * u + b * v + c, d * u + e * v + f], -1) for a, b, c, d, e, f in m])
    return resample(x, at, "bilinear", "constant", 0.0, "normalized_minus_one_to_one", aligned)


def make_affine():
    cases = Cases("affine")

    def given(x, matrix, height, width, aligned=True, fill=fp32(0)):
        return {"x": x, "transform_matrix": matrix, "output_height": int32(height), "output_width": int32(width), "sampling_mode": text("bilinear"),
                "padding_mode": text("constant"), "padding_value": fill, "coordinates_mode": text("normalized_minus_one_to_one"), "align_corners": boolean(aligned)}

    # Results near 0 are differences of larger numbers.
    room = {"abs": 1e-5, "rel": 1e-4}
    for aligned in (True, False):
        for batches in (1, 2):
            x, matrix = values(2, 2, 3, 4), values(batches, 6)
            cases.add(f"moves {'with' if aligned else 'without'} aligned corners by {batches} matrices", given(fp32(x), fp32(matrix), 4, 3, aligned),
                      [fp32(affine(x, matrix, 4, 3, aligned))], tolerance=room)
    cases.add("moves halves", given(fp16(x), fp16(matrix), 2, 5, fill=fp16(0)), [fp16(affine(x, matrix, 2, 5))], tolerance={"abs": 1e-3, "rel": 1e-3})
    cases.add("makes one pixel", given(fp32(x), fp32(matrix), 1, 1), [fp32(affine(x, matrix, 1, 1))], tolerance=room)
    same = [[1, 0, 0, 0, 1, 0]]
    cases.add("leaves x alone", given(fp32(x), fp32(same), 3, 4), [fp32(x)], tolerance=room)
    # This case comes from the tests of coremltools.
    x, matrix = fp32(np.reshape([11, 22, 33, 44], (1, 1, 2, 2))), fp32([[-1, -2, -3.7, -1, 3.5, 1.2]])
    cases.add("gives the numbers of the tests of coremltools", given(x, matrix, 3, 3), [fp32(np.reshape([10.752501, 2.5025, 0, 1.9799997, 0, 0, 0, 0, 0], (1, 1, 3, 3)))],
              tolerance={"abs": 1e-4, "rel": 1e-5})
    cases.fail("rejects rank 3 (c1)", given(fp32(values(1, 2, 2)), matrix, 1, 1), "affine_c1")
    cases.fail("rejects no pixels (c1)", given(fp32(values(1, 1, 2, 0)), matrix, 1, 1), "affine_c1")
    cases.fail("rejects a matrix of 5 numbers (c2)", given(x, fp32(values(1, 5)), 1, 1), "affine_c2")
    cases.fail("rejects a matrix of another batch (c2)", given(x, fp32(values(2, 6)), 1, 1), "affine_c2")
    for name in ("sampling_mode", "padding_mode", "coordinates_mode"):
        cases.fail(f"rejects another {name} (c3)", {**given(x, matrix, 1, 1), name: text("nearest")}, "affine_c3")
    cases.fail("rejects a height of 0 (c4)", given(x, matrix, 0, 1), "affine_c4")
    cases.fail("rejects a vector to pad with (c4)", given(x, matrix, 1, 1, fill=fp32([0, 0])), "affine_c4")
    cases.fail("rejects a result that no machine holds (c5)", given(x, matrix, 2147483647, 2147483647), "affine_c5")
    cases.write()


def points_of(mode, first, last, count):
    i, size = np.arange(count), last - first + 1
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        alone = first if mode[0] == "S" else (first + last) / 2
        points = first + i * (last - first) / (count - 1) if count > 1 else np.array([alone])
    elif mode == "DEFAULT":
        points = first + i * size / count
    elif mode == "OFFSET_CORNERS":
        points = first + (i + 0.5) * max(1, last - first) / count
    else:
        points = first + (i + 0.5) * size / count - 0.5
    return np.clip(points, min(first, last), max(first, last))


def crops(x, boxes, pictures, height, width, mode="DEFAULT", fill=0.0):
    """One crop a box; boxes are top, left, bottom, right in pixels."""
    x = np.asarray(x, np.float64)
    out = np.zeros((len(boxes), x.shape[1], height, width))
    for n, (top, left, bottom, right) in enumerate(np.asarray(boxes, np.float64)):
        rows, columns = points_of(mode, top, bottom, height), points_of(mode, left, right, width)
        for c, i, j in np.ndindex(out.shape[1:]):
            inside = 0 <= rows[i] <= x.shape[2] - 1 and 0 <= columns[j] <= x.shape[3] - 1
            out[n, c, i, j] = bilinear(x[pictures[n], c], rows[i], columns[j]) if inside else fill
    return out


def make_crop_resize():
    cases = Cases("crop_resize")
    sizes = lambda h, w: {"target_height": int32(h), "target_width": int32(w)}
    boxes = [[0.5, 1, 2.5, 3], [1, 0, 3, 2.25]]
    pictures = [1, 0]
    for mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS", "UNALIGN_CORNERS"):
        for h, w in ((3, 2), (1, 1), (5, 4)):
            x = values(2, 2, 4, 5)
            cases.add(f"crops {h} by {w}, {mode}", {"x": fp32(x), "boxes": fp32(boxes), "box_indices": int32(pictures), **sizes(h, w), "sampling_mode": text(mode)},
                      [fp32(crops(x, boxes, pictures, h, w, mode))])
    cases.add("has defaults", {"x": fp32(x), "boxes": fp32(boxes)}, [fp32(crops(x, boxes, [0, 1], 1, 1))])
    given = {"box_indices": int32(pictures), **sizes(2, 3), "sampling_mode": text("ALIGN_CORNERS")}
    swap = lambda b: [[l, t, r, bo] for t, l, bo, r in b]
    center = lambda b: [[(t + bo) / 2, (l + r) / 2, bo - t, r - l] for t, l, bo, r in b]
    want = crops(x, boxes, pictures, 2, 3, "ALIGN_CORNERS")
    for name, numbers in (("CORNERS_HEIGHT_FIRST", boxes), ("CORNERS_WIDTH_FIRST", swap(boxes)),
                          ("CENTER_SIZE_HEIGHT_FIRST", center(boxes)), ("CENTER_SIZE_WIDTH_FIRST", [[b, a, d, c] for a, b, c, d in center(boxes)])):
        cases.add(f"reads boxes {name}", {"x": fp32(x), "boxes": fp32(numbers), **given, "box_coordinate_mode": text(name)}, [fp32(want)])
    cases.add("scales boxes", {"x": fp32(x), "boxes": fp32(np.multiply(boxes, 4)), **given, "spatial_scale": fp32(0.25)}, [fp32(want)])
    cases.add("crops halves", {"x": fp16(x), "boxes": fp32(boxes), **given}, [fp16(want)])
    cases.add("reads boxes of halves", {"x": fp32(x), "boxes": fp16(boxes), **given}, [fp32(want)])
    whole = [[0, 1, 3, 4], [2, 2, 3, 2]]
    cases.add("reads boxes and indices of uint16", {"x": fp32(x), "boxes": tensor("uint16", whole), **given, "box_indices": tensor("uint16", pictures)},
              [fp32(crops(x, whole, pictures, 2, 3, "ALIGN_CORNERS"))])
    backwards = [[2.5, 3, 0.5, 1]]
    cases.add("crops backwards", {"x": fp32(x), "boxes": fp32(backwards), **sizes(3, 3), "sampling_mode": text("ALIGN_CORNERS")},
              [fp32(crops(x, backwards, [0], 3, 3, "ALIGN_CORNERS"))])
    outside = [[-1, 1, 2, 8], [np.nan, 0, np.inf, 1]]
    cases.add("pads outside", {"x": fp32(x), "boxes": fp32(outside), **given, "pad_value": fp32(7)},
              [fp32(np.concatenate([crops(x, outside[:1], [1], 2, 3, "ALIGN_CORNERS", 7), np.full((1, 2, 2, 3), 7)]))])
    halves = {"x": fp16(x), "boxes": fp16(outside[:1]), "box_indices": int32([1]), **sizes(2, 3), "sampling_mode": text("ALIGN_CORNERS")}
    for kind, name in ((fp16, "halves"), (fp32, "fp32")):
        cases.add(f"pads halves with {name}", {**halves, "pad_value": kind(7)}, [fp16(crops(x, outside[:1], [1], 2, 3, "ALIGN_CORNERS", 7))])
    # The padding is the same beside every sampling mode, boxes that are constants or not, and 0 before iOS 16.
    partly = [[-1.5, 1, 2, 6.5], [1, -2, 7, 3]]
    places = lambda numbers, named: np.concatenate(([np.reshape(pictures, (2, 1))] if named else []) + [np.asarray(numbers)], 1).reshape(len(numbers), 1, -1, 1, 1)
    for mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS", "UNALIGN_CORNERS"):
        for h, w in ((4, 3), (1, 1)):
            given_mode = {"x": fp32(x), **sizes(h, w), "sampling_mode": text(mode)}
            seven, zero = crops(x, partly, pictures, h, w, mode, 7), crops(x, partly, pictures, h, w, mode)
            what = f"outside, {h} by {w}, {mode}"
            cases.add(f"pads boxes {what}", {**given_mode, "boxes": fp32(partly), "box_indices": int32(pictures), "pad_value": fp32(7)}, [fp32(seven)], opset="ios17")
            cases.add(f"pads a roi with indices {what}", {**given_mode, "roi": fp32(places(partly, True)), "pad_value": fp32(7)}, [fp32(seven[:, None])], opset="ios16")
            cases.add(f"pads a roi with 0 {what}", {**given_mode, "roi": fp32(places(partly, True))}, [fp32(zero[:, None])], opset="ios15")
            both = [crops(x, [b, b], [0, 1], h, w, mode) for b in partly]
            cases.add(f"pads a roi of every picture with 0 {what}", {**given_mode, "roi": fp32(places(partly, False))}, [fp32(np.stack(both))], opset="ios15")
    # These cases come from the tests of coremltools.
    square = fp32(np.arange(1, 17).reshape(1, 1, 4, 4))
    normalized = {"normalized_coordinates": boolean(True), "sampling_mode": text("ALIGN_CORNERS"), "pad_value": fp32(10)}
    corners = [[0.1, 0.3, 1.3, 1], [0.5, 1.8, 1, 0.3], [0, 0.4, 0.6, 0.7]]
    want = np.reshape([3.1, 5.2, 10, 10, 10, 7.9, 10, 13.9, 2.2, 3.1, 9.4, 10.3], (3, 1, 2, 2))
    near = {"abs": 1e-4, "rel": 1e-5}
    cases.add("gives the numbers of the tests of coremltools", {"x": square, "boxes": fp32(corners), "box_indices": int32([0, 0, 0]), **sizes(2, 2), **normalized},
              [fp32(want)], tolerance=near)
    roi = fp32(np.reshape([[0] + c for c in corners], (3, 1, 5, 1, 1)))
    cases.add("gives the same numbers for a roi with indices", {"x": square, "roi": roi, **sizes(2, 2), **normalized}, [fp32(want.reshape(3, 1, 1, 2, 2))], opset="ios16", tolerance=near)
    for box, h, want in (([1, 1, 2, 2], 2, [6, 7, 10, 11]), ([1, 1, 2, 2], 1, [8.5]), ([2, 2, 1, 1], 2, [11, 10, 7, 6])):
        cases.add(f"gives the numbers for the roi {box} to {h}", {"x": square, "roi": fp32(np.reshape(box, (1, 1, 4, 1, 1))), **sizes(h, h), "sampling_mode": text("ALIGN_CORNERS")},
                  [fp32(np.reshape(want, (1, 1, 1, h, h)))], opset="ios15")
    roi = fp32(np.reshape(boxes, (2, 1, 4, 1, 1)))
    every = [crops(x, [b, b], [0, 1], 2, 2) for b in boxes]
    cases.add("crops a roi from every picture", {"x": fp32(x), "roi": roi, **sizes(2, 2)}, [fp32(np.stack(every))], opset="ios15")
    cases.add("crops a roi of halves", {"x": fp16(x), "roi": fp16(np.asarray(roi)), **sizes(2, 2)}, [fp16(np.stack(every))], opset="ios16")
    indexed = np.concatenate([np.reshape(pictures, (2, 1)), boxes], 1).reshape(2, 1, 5, 1, 1)
    cases.add("crops a roi from the picture it names", {"x": fp16(x), "roi": fp16(indexed), **sizes(2, 2)}, [fp16(crops(x, boxes, pictures, 2, 2)[:, None])], opset="ios16")
    cases.add("takes no boxes", {"x": fp32(x), "boxes": fp32(np.zeros((0, 4))), **sizes(2, 2)}, [fp32(np.zeros((0, 2, 2, 2)))])

    op, x, b = "crop_resize", fp32(x), fp32(boxes)
    cases.fail("rejects rank 3 (c1)", {"x": fp32(values(1, 2, 2)), "boxes": b}, op + "_c1")
    cases.fail("rejects no pixels (c1)", {"x": fp32(values(2, 1, 0, 2)), "boxes": b}, op + "_c1")
    cases.fail("rejects a roi in ios17 (c2)", {"x": x, "roi": roi}, op + "_c2", opset="ios17")
    cases.fail("rejects neither (c2)", {"x": x}, op + "_c2")
    cases.fail("rejects a roi of rank 2 (c2)", {"x": x, "roi": b}, op + "_c2", opset="ios16")
    cases.fail("rejects a roi of another dtype (c2)", {"x": x, "roi": fp16(np.asarray(roi))}, op + "_c2", opset="ios16")
    cases.fail("rejects boxes of 5 numbers (c2)", {"x": x, "boxes": fp32(values(2, 5))}, op + "_c2")
    cases.fail("rejects whole boxes for normalized coordinates (c2)", {"x": x, "boxes": tensor("uint16", whole), "normalized_coordinates": boolean(True)}, op + "_c2")
    cases.fail("rejects an index outside (c3)", {"x": x, "boxes": b, "box_indices": int32([0, 2])}, op + "_c3")
    cases.fail("rejects a negative index (c3)", {"x": x, "boxes": b, "box_indices": int32([0, -1])}, op + "_c3")
    cases.fail("rejects an index outside in a roi (c3)", {"x": x, "roi": fp32(np.reshape([2, 0, 0, 1, 1], (1, 1, 5, 1, 1)))}, op + "_c3", opset="ios15")
    cases.fail("rejects too few indices (c3)", {"x": x, "boxes": b, "box_indices": int32([0])}, op + "_c3")
    cases.fail("rejects more boxes than pictures (c3)", {"x": x, "boxes": fp32(values(3, 4))}, op + "_c3")
    cases.fail("rejects a size of 0 (c4)", {"x": x, "boxes": b, **sizes(0, 1)}, op + "_c4")
    cases.fail("rejects a vector to pad with (c4)", {"x": x, "boxes": b, "pad_value": fp32([0, 0])}, op + "_c4")
    cases.fail("rejects an unknown mode (c5)", {"x": x, "boxes": b, "sampling_mode": text("CORNERS")}, op + "_c5")
    cases.fail("rejects unknown coordinates (c5)", {"x": x, "boxes": b, "box_coordinate_mode": text("CORNERS")}, op + "_c5")
    cases.fail("rejects a result that no machine holds (c6)", {"x": x, "boxes": b, **sizes(2147483647, 2147483647)}, op + "_c6")
    cases.fail("rejects pad_value in ios15", {"x": x, "roi": roi, "pad_value": fp32(0)}, "ios16", opset="ios15")
    cases.write()


def overlap(a, b):
    low = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
    high = np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    common = np.prod(np.maximum(high - low, 0))
    whole = a[2] * a[3] + b[2] * b[3] - common
    return common / whole if whole else 0


def suppressed(boxes, scores, iou, least, count, per_class):
    """The indices that stay, of boxes [n, 4] and scores [n, classes]."""
    best, classes = scores.max(1), scores.argmax(1)
    order = np.argsort(-best, kind="stable")
    kept = []
    for i in order:
        rivals = [k for k in kept if not per_class or classes[k] == classes[i]]
        if len(kept) < count and best[i] >= least and all(overlap(boxes[k], boxes[i]) <= iou for k in rivals):
            kept.append(int(i))
    return kept or [int(order[0])]


def make_nms():
    op = "non_maximum_suppression"
    cases = Cases(op)

    def add(name, boxes, scores, kind=fp32, iou=0.3, least=-np.inf, count=5, per_class=False, old=False, opset=None):
        boxes, scores = np.asarray(kind(boxes), np.float64), np.asarray(kind(scores), np.float64)
        n, classes = len(boxes), scores.shape[-1]
        out = [np.zeros((n, count, 4)), np.zeros((n, count, classes)), np.full((n, count), -1), np.zeros(n)]
        for b in range(n):
            kept = suppressed(boxes[b], scores[b], float(np.asarray(kind(iou))), float(np.asarray(kind(least))), count, per_class)
            out[0][b, :len(kept)], out[1][b, :len(kept)] = boxes[b, kept], scores[b, kept]
            out[2][b, :len(kept)], out[3][b] = kept, len(kept)
        turn = (lambda a: a) if old else (lambda a: np.swapaxes(a, 1, 2))
        inputs = {"boxes": kind(turn(boxes)), "scores": kind(turn(scores)), "iou_threshold": kind(iou), "max_boxes": int32(count), "per_class_suppression": boolean(per_class)}
        if old:
            inputs["score_threshold"] = kind(least)
        outputs = [kind(turn(out[0])), kind(turn(out[1])), int32(out[2])] + ([int32(out[3])] if old else [])
        cases.add(name, inputs, outputs, opset=opset or ("ios15" if old else "ios17"))

    def sample(n, b, classes):
        boxes = np.concatenate([random.uniform(0, 4, (n, b, 2)), random.uniform(1, 3, (n, b, 2))], -1)
        return np.round(boxes * 16) / 16, np.round(random.permuted(np.linspace(-2, 2, n * b * classes)).reshape(n, b, classes) * 64) / 64

    for old in (True, False):
        form = "before ios17" if old else "since ios17"
        for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
            for per_class in (False, True):
                add(f"suppresses {name} {'in each class' if per_class else 'over all classes'} {form}", *sample(2, 9, 3), kind, per_class=per_class, old=old)
        add(f"fills up {form}", *sample(1, 3, 1), count=7, old=old)
        add(f"stops at max_boxes {form}", *sample(1, 12, 2), iou=0.9, count=3, old=old)
        add(f"keeps the first of equal boxes {form}", [[[1, 1, 2, 2]] * 3], [[[0.5]] * 3], old=old)
        add(f"keeps boxes without an area {form}", [[[1, 1, 0, 0]] * 3], [[[0.5]] * 3], old=old)
    add("drops boxes below the threshold", *sample(2, 9, 2), least=0.5, old=True)
    add("keeps a score that equals the threshold", [[[0, 0, 1, 1], [5, 5, 1, 1], [9, 9, 1, 1]]], [[[0.5], [1], [0.25]]], least=0.5, old=True, opset="ios16")
    add("keeps the best box where the threshold leaves none", *sample(1, 4, 2), least=9, old=True)
    nothing = {"boxes": fp32(np.zeros((1, 4, 0))), "scores": fp32(np.zeros((1, 2, 0))), "iou_threshold": fp32(0.5), "max_boxes": int32(2)}
    cases.add("takes no boxes", nothing, [fp32(np.zeros((1, 4, 2))), fp32(np.zeros((1, 2, 2))), int32([[-1, -1]])])
    cases.add("keeps no boxes", {**nothing, "boxes": fp32(np.zeros((1, 4, 1))), "scores": fp32(np.zeros((1, 2, 1))), "max_boxes": int32(0)},
              [fp32(np.zeros((1, 4, 0))), fp32(np.zeros((1, 2, 0))), int32(np.zeros((1, 0)))])
    cases.add("takes NaN for no score", {**nothing, "boxes": fp32(np.ones((1, 4, 2))), "scores": fp32([[[np.nan, np.nan], [np.nan, -1]]])},
              [fp32([[[1, 0]] * 4]), fp32([[[np.nan, 0], [-1, 0]]]), int32([[1, -1]])])
    given = {"boxes": fp32(values(1, 4, 3)), "scores": fp32(values(1, 2, 3)), "iou_threshold": fp32(0.5), "max_boxes": int32(2)}
    cases.fail("rejects boxes of rank 2 (c1)", {**given, "boxes": fp32(values(4, 3))}, op + "_c1")
    cases.fail("rejects other numbers of boxes and scores (c1)", {**given, "scores": fp32(values(1, 2, 4))}, op + "_c1")
    cases.fail("rejects boxes of 5 numbers (c1)", {**given, "boxes": fp32(values(1, 5, 3))}, op + "_c1")
    cases.fail("rejects no classes (c1)", {**given, "scores": fp32(values(1, 0, 3))}, op + "_c1")
    cases.fail("rejects the older layout (c1)", {**given, "boxes": fp32(values(1, 3, 4)), "scores": fp32(values(1, 3, 2))}, op + "_c1")
    cases.fail("rejects a score_threshold in ios17 (c2)", {**given, "score_threshold": fp32(0)}, op + "_c2")
    old = {**given, "boxes": fp32(values(1, 3, 4)), "scores": fp32(values(1, 3, 2))}
    cases.fail("rejects none before (c2)", old, op + "_c2", opset="ios16")
    cases.fail("rejects a vector of thresholds (c3)", {**given, "iou_threshold": fp32([0.5, 0.5])}, op + "_c3")
    cases.fail("rejects a negative number of boxes (c3)", {**given, "max_boxes": int32(-1)}, op + "_c3")
    cases.fail("rejects a result that no machine holds (c4)", {**given, "boxes": type_only("fp32", [1 << 30, 4, 3]), "scores": type_only("fp32", [1 << 30, 2, 3]), "max_boxes": int32(2147483647)}, op + "_c4")
    cases.fail("rejects two dtypes", {**given, "scores": fp16(values(1, 2, 3))}, "parameter")
    cases.write()


make_resample()
make_affine()
make_crop_resize()
make_nms()

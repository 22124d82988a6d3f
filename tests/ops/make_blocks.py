# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the operations that move blocks, windows and borders. numpy is the oracle.
Run: python3 tests/ops/make_blocks.py"""

import numpy as np

from cases import Cases, fp32, int32, tensor, type_only
from make_shape import DTYPES, DTYPES15, ints, moves, sample

FLOATS = ("fp32", "fp16")


def to_blocks(x, f, order):
    """[n, c f f, h, w] -> [n, c, h f, w f]; `order`: where the cells are in the channels."""
    n, c, h, w = x.shape
    if order == "first":
        return x.reshape(n, f, f, c // (f * f), h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (f * f), h * f, w * f)
    return x.reshape(n, c // (f * f), f, f, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // (f * f), h * f, w * f)


def to_channels(x, f, order):
    n, c, h, w = x.shape
    cells = x.reshape(n, c, h // f, f, w // f, f)
    axes = (0, 3, 5, 1, 2, 4) if order == "first" else (0, 1, 3, 5, 2, 4)
    return cells.transpose(axes).reshape(n, c * f * f, h // f, w // f)


def write_block_family():
    for op, factor, f, order in (
        ("depth_to_space", "block_size", to_blocks, "first"), ("space_to_depth", "block_size", to_channels, "first"),
        ("pixel_shuffle", "upscale_factor", to_blocks, "last"), ("pixel_unshuffle", "downscale_factor", to_channels, "last"),
    ):
        cases = Cases(op)
        number = (lambda v: tensor("uint32", v)) if op == "pixel_unshuffle" else int32
        shape = (2, 12, 2, 3) if f is to_blocks else (2, 3, 4, 6)
        moves(cases, lambda x: f(x, 2, order), shape, {factor: number(2)}, "moves blocks of 2", FLOATS)
        shape = (1, 9, 1, 2) if f is to_blocks else (1, 2, 3, 9)
        moves(cases, lambda x: f(x, 3, order), shape, {factor: number(3)}, "moves blocks of 3", FLOATS)
        x = sample("fp32", (1, 2, 3, 3))
        cases.add("leaves blocks of 1 alone", {"x": x, factor: number(1)}, [x])
        cases.add("takes no elements", {"x": fp32(np.zeros((0, 4, 2, 2))), factor: number(2)},
                  [fp32(np.zeros((0, 1, 4, 4) if f is to_blocks else (0, 16, 1, 1)))])
        cases.fail("refuses rank 3 (c1)", {"x": fp32(np.zeros((4, 2, 2))), factor: number(2)}, op + "_c1")
        cases.fail("refuses a factor of 0 (c2)", {"x": x, factor: number(0)}, op + "_c2")
        cases.fail("refuses a huge factor (c2)", {"x": x, factor: number(2147483647)}, op + "_c2")
        cases.fail("refuses a vector of factors (c2)", {"x": x, factor: number([2, 2])}, op + "_c2")
        cases.fail("refuses sizes that the factor does not divide (c3)", {"x": x, factor: number(2)}, op + "_c3")
        cases.fail("refuses a result that is too large (c3)", {"x": type_only("fp32", [1 << 20, 1 << 20, 1 << 20, 1 << 20]), factor: number(1 << 20)}, op + "_c3")
        cases.fail("refuses integers", {"x": int32(np.zeros((1, 4, 2, 2))), factor: number(2)}, "cannot be")
        if op == "pixel_unshuffle":
            cases.fail("refuses ios15", {"x": x, factor: number(1)}, "ios16", opset="ios15")
        cases.write()


def to_batch(x, block, paddings):
    x = np.pad(x, [(0, 0), (0, 0)] + [tuple(p) for p in paddings])
    n, c, h, w = x.shape
    cells = x.reshape(n, c, h // block[0], block[0], w // block[1], block[1])
    return cells.transpose(3, 5, 0, 1, 2, 4).reshape(-1, c, h // block[0], w // block[1])


def from_batch(x, block, crops):
    n, c, h, w = x.shape
    cells = x.reshape(block[0], block[1], n // (block[0] * block[1]), c, h, w).transpose(2, 3, 4, 0, 5, 1)
    out = cells.reshape(-1, c, h * block[0], w * block[1])
    return out[:, :, crops[0][0]:out.shape[2] - crops[0][1], crops[1][0]:out.shape[3] - crops[1][1]]


def write_batches():
    for op, f, border, shapes in (("space_to_batch", to_batch, "paddings", ((2, 3, 4, 6), (1, 2, 3, 5))),
                                  ("batch_to_space", from_batch, "crops", ((8, 3, 2, 3), (12, 2, 2, 3)))):
        cases = Cases(op)
        none = {"block_shape": ints([2, 2]), border: ints([[0, 0], [0, 0]])}
        moves(cases, lambda x: f(x, [2, 2], [[0, 0], [0, 0]]), shapes[0], none, "moves cells", FLOATS)
        uneven = [[1, 0], [0, 1]] if f is to_batch else [[1, 2], [0, 1]]
        block = [2, 3] if f is to_batch else [3, 2]
        moves(cases, lambda x: f(x, block, uneven), shapes[1], {"block_shape": ints(block), border: ints(uneven)}, "moves cells with a border", FLOATS)
        x = sample("fp32", shapes[0])
        wide = [[3, 5], [4, 2]] if f is to_batch else [[4, 0], [0, 5]]
        cases.add("has wide borders", {"x": x, "block_shape": ints([2, 2]), border: ints(wide)}, [fp32(f(x.array, [2, 2], wide))])
        cases.add("takes no elements", {"x": fp32(np.zeros((0, 3, 4, 4))), **none}, [fp32(np.zeros((0, 3) + ((2, 2) if f is to_batch else (8, 8))))])
        cases.fail("refuses rank 3 (c1)", {"x": fp32(np.zeros((4, 2, 2))), **none}, op + "_c1")
        cases.fail("refuses a block of 0 (c2)", {"x": x, **none, "block_shape": ints([2, 0])}, op + "_c2")
        cases.fail("refuses three blocks (c2)", {"x": x, **none, "block_shape": ints([2, 2, 2])}, op + "_c2")
        cases.fail("refuses a negative border (c3)", {"x": x, **none, border: ints([[0, 0], [0, -1]])}, op + "_c3")
        cases.fail("refuses a border vector (c3)", {"x": x, **none, border: ints([0, 0])}, op + "_c3")
        cases.fail("refuses sizes that do not fit (c4)", {"x": x, **none, "block_shape": ints([5, 1])}, op + "_c4")
        cases.fail("refuses borders that do not fit (c4)", {"x": x, **none, border: ints([[0, 1], [0, 0]] if f is to_batch else [[9, 9], [0, 0]])}, op + "_c4")
        cases.fail("refuses a result that is too large (c4)", {"x": type_only("fp32", [1 << 30, 1 << 10, 1 << 30, 1 << 30]), **none, "block_shape": ints([1 << 30, 1 << 10] if f is to_batch else [1, 1 << 20])}, op + "_c4")
        cases.write()


def write_flatten():
    cases = Cases("flatten2d")
    moves(cases, lambda x: x.reshape(2, 12), (2, 3, 4), {}, "flattens after the first axis by default", DTYPES15)
    x = sample("fp32", (2, 3, 2))
    for axis in (0, 1, 2, 3, -1, -2, -3):
        cases.add(f"flattens at {axis}", {"x": x, "axis": int32(axis)}, [fp32(x.array.reshape(int(np.prod(x.array.shape[:axis])), -1))])
    cases.add("takes a vector", {"x": fp32([1, 2, 3])}, [fp32([[1], [2], [3]])])
    cases.add("takes a scalar", {"x": fp32(7)}, [fp32([[7]])])
    cases.add("takes no elements", {"x": fp32(np.zeros((2, 0, 3))), "axis": int32(-1)}, [fp32(np.zeros((0, 3)))])
    cases.fail("refuses an axis outside (c1)", {"x": x, "axis": int32(4)}, "flatten2d_c1")
    cases.fail("refuses a vector of axes (c1)", {"x": x, "axis": ints([1, 2])}, "flatten2d_c1")
    cases.fail("refuses sizes that are too large (c2)", {"x": type_only("fp32", [1 << 30, 1 << 30])}, "flatten2d_c2")
    cases.fail("refuses int8", {"x": sample("int8", (2, 3))}, "cannot be")
    cases.write()


def write_crop():
    cases = Cases("crop")
    moves(cases, lambda x: x[..., 1:4, 2:5], (2, 3, 4, 6), {"crop_height": ints([1, 0]), "crop_width": ints([2, 1])}, "crops", FLOATS)
    x = sample("fp32", (2, 3, 4))
    cases.add("crops nothing", {"x": x, "crop_height": ints([0, 0]), "crop_width": ints([0, 0])}, [x])
    cases.add("crops everything", {"x": x, "crop_height": ints([1, 2]), "crop_width": ints([0, 0])}, [fp32(np.zeros((2, 0, 4)))])
    cases.fail("refuses rank 2 (c1)", {"x": sample("fp32", (3, 4)), "crop_height": ints([0, 0]), "crop_width": ints([0, 0])}, "crop_c1")
    cases.fail("refuses a negative amount (c2)", {"x": x, "crop_height": ints([0, -1]), "crop_width": ints([0, 0])}, "crop_c2")
    cases.fail("refuses three amounts (c2)", {"x": x, "crop_height": ints([0, 1, 1]), "crop_width": ints([0, 0])}, "crop_c2")
    cases.fail("refuses more than there is (c3)", {"x": x, "crop_height": ints([0, 0]), "crop_width": ints([3, 2])}, "crop_c3")
    cases.write()


def windows(x, axis, size, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    view = np.moveaxis(view, -1, axis % x.ndim + 1)
    return np.take(view, range(0, view.shape[axis % x.ndim], stride), axis % x.ndim)


def write_windows():
    cases = Cases("sliding_windows")
    base = {"axis": int32(1), "size": int32(3)}
    moves(cases, lambda x: windows(x, 1, 3, 2), (2, 8, 2), {**base, "stride": int32(2)}, "has windows", DTYPES)
    x = sample("fp32", (2, 5, 3))
    for axis in (0, 1, 2, -1, -2):
        cases.add(f"has windows of axis {axis}", {"x": x, "axis": int32(axis), "size": int32(2)}, [fp32(windows(x.array, axis, 2, 1))])
    cases.add("has one window of all", {"x": x, "axis": int32(1), "size": int32(5), "stride": int32(2147483647)}, [fp32(windows(x.array, 1, 5, 9))])
    cases.add("takes no elements", {"x": fp32(np.zeros((2, 4, 0))), **base}, [fp32(np.zeros((2, 2, 3, 0)))])
    cases.fail("refuses int8 before iOS17 (c1)", {"x": sample("int8", (2, 5)), **base}, "sliding_windows_c1", opset="ios16")
    cases.fail("refuses bools before iOS17 (c1)", {"x": sample("bool", (2, 5)), **base}, "sliding_windows_c1", opset="ios15")
    cases.fail("refuses an axis outside (c2)", {"x": x, **base, "axis": int32(3)}, "sliding_windows_c2")
    cases.fail("refuses a size of 0 (c3)", {"x": x, **base, "size": int32(0)}, "sliding_windows_c3")
    cases.fail("refuses a stride of 0 (c3)", {"x": x, **base, "stride": int32(0)}, "sliding_windows_c3")
    cases.fail("refuses a window that does not fit (c4)", {"x": x, **base, "size": int32(6)}, "sliding_windows_c4")
    cases.write()


def reverse_sequence(x, lengths, sequence, batch):
    out = np.moveaxis(x.copy(), (batch, sequence), (0, 1))
    for i, length in enumerate(lengths):
        out[i, :length] = out[i, :length][::-1]
    return np.moveaxis(out, (0, 1), (batch, sequence))


def write_reverse():
    cases = Cases("reverse_sequence")
    axes = {"seq_axis": int32(1), "batch_axis": int32(0)}
    moves(cases, lambda x: reverse_sequence(x, [3, 1], 1, 0), (2, 4, 2), {"lengths": ints([3, 1]), **axes}, "reverses a part", DTYPES)
    x = sample("fp32", (3, 2, 4))
    for sequence, batch, lengths in ((0, 1, [3, 0]), (2, 0, [4, 2, 1]), (-1, -2, [2, 3])):
        cases.add(f"reverses axis {sequence} of batch {batch}", {"x": x, "lengths": ints(lengths), "seq_axis": int32(sequence), "batch_axis": int32(batch)},
                  [fp32(reverse_sequence(x.array, lengths, sequence, batch))])
    cases.add("has the batch first by default", {"x": x, "lengths": ints([2, 1, 0]), "seq_axis": int32(1)}, [fp32(reverse_sequence(x.array, [2, 1, 0], 1, 0))])
    for dtype in ("int8", "int16"):
        cases.add(f"takes {dtype} lengths from iOS17 on", {"x": x, "lengths": tensor(dtype, [1, 2, 2]), **axes}, [fp32(reverse_sequence(x.array, [1, 2, 2], 1, 0))])
    cases.add("takes no elements", {"x": fp32(np.zeros((2, 0))), "lengths": ints([0, 0]), **axes}, [fp32(np.zeros((2, 0)))])
    cases.fail("refuses int8 before iOS17 (c1)", {"x": sample("int8", (2, 3)), "lengths": ints([1, 1]), **axes}, "reverse_sequence_c1", opset="ios16")
    cases.fail("refuses int16 lengths before iOS17 (c1)", {"x": x, "lengths": tensor("int16", [1, 1, 1]), **axes}, "reverse_sequence_c1", opset="ios16")
    cases.fail("refuses an axis outside (c2)", {"x": x, "lengths": ints([1, 1, 1]), **axes, "seq_axis": int32(3)}, "reverse_sequence_c2")
    cases.fail("refuses the same axis twice (c3)", {"x": x, "lengths": ints([1, 1, 1])}, "reverse_sequence_c3")
    cases.fail("refuses too few lengths (c4)", {"x": x, "lengths": ints([1, 1]), **axes}, "reverse_sequence_c4")
    cases.fail("refuses a negative length (c5)", {"x": x, "lengths": ints([1, -1, 1]), **axes}, "reverse_sequence_c5")
    cases.fail("refuses a length that is too large (c5)", {"x": x, "lengths": ints([1, 3, 1]), **axes}, "reverse_sequence_c5")
    cases.write()


write_block_family()
write_batches()
write_flatten()
write_crop()
write_windows()
write_reverse()

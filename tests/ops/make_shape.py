# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the operations that move data or make shapes. numpy is the oracle; see cases.py."""

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

RANDOM = np.random.default_rng(13)
DTYPES15 = ("fp16", "fp32", "int32", "bool")
DTYPES = DTYPES15 + ("int8", "uint8", "int16", "uint16")
HUGE = [1 << 30, 1 << 30]


def sample(dtype, shape):
    """Distinct values, as far as the dtype has them."""
    count = int(np.prod(shape))
    values = np.arange(count) % 2 if dtype == "bool" else np.arange(count) % 120
    return tensor(dtype, RANDOM.permutation(values).reshape(shape))


def ints(values):
    return int32(np.array(values, dtype=np.int64))


def moves(cases, f, shape, inputs, what, dtypes=DTYPES):
    """One case a dtype for an operation that only moves elements; f: array -> array."""
    for dtype in dtypes:
        x = sample(dtype, shape)
        cases.add(f"{what}, {dtype}", {"x": x, **inputs}, [tensor(dtype, f(x.array))])


def before_17(cases, inputs, label):
    cases.fail("refuses int8 before iOS17 (c1)", {"x": sample("int8", (2, 3)), **inputs}, label, opset="ios16")


def write_reshape():
    cases = Cases("reshape")
    moves(cases, lambda x: x.reshape(3, 4), (2, 6), {"shape": ints([3, 4])}, "reshapes")
    x = fp32(np.arange(24).reshape(2, 3, 4))
    for shape in ([24], [-1], [4, -1], [2, 3, 2, 2], [1, 24, 1], [6, -1, 1]):
        cases.add(f"gives {shape}", {"x": x, "shape": ints(shape)}, [fp32(x.array.reshape(shape))])
    cases.add("makes a scalar", {"x": fp32([[7]]), "shape": ints([])}, [fp32(7)])
    cases.add("takes a scalar", {"x": fp32(7), "shape": ints([1, 1])}, [fp32([[7]])])
    cases.add("takes no elements", {"x": fp32(np.zeros((0, 3))), "shape": ints([3, -1])}, [fp32(np.zeros((3, 0)))])
    # A 0 keeps a dimension: before iOS17 that at the same index, then that at the same place from the right.
    cases.add("keeps the dimension at the same index before iOS17", {"x": x, "shape": ints([0, -1])},
              [fp32(x.array.reshape(2, 12))], opset="ios16")
    cases.add("keeps the dimension counted from the right from iOS17 on", {"x": x, "shape": ints([-1, 0])},
              [fp32(x.array.reshape(6, 4))])
    cases.add("takes 1 for a 0 that x has no dimension for", {"x": fp32([1, 2, 3]), "shape": ints([0, 0, 0])},
              [fp32([[[1, 2, 3]]])])
    cases.add("keeps an empty dimension", {"x": fp32(np.zeros((2, 0))), "shape": ints([2, 0])}, [fp32(np.zeros((2, 0)))])
    cases.add("takes an int16 shape from iOS17 on", {"x": x, "shape": tensor("int16", [4, 6])}, [fp32(x.array.reshape(4, 6))])
    cases.add("takes an int8 shape from iOS17 on", {"x": x, "shape": tensor("int8", [-1, 6])}, [fp32(x.array.reshape(4, 6))])
    before_17(cases, {"shape": ints([3, 2])}, "reshape_c1")
    cases.fail("refuses an int16 shape before iOS17 (c1)", {"x": x, "shape": tensor("int16", [4, 6])}, "reshape_c1", opset="ios16")
    cases.fail("refuses a scalar as shape (c2)", {"x": x, "shape": int32(24)}, "reshape_c2")
    cases.fail("refuses a shape of unknown rank (c2)", {"x": x, "shape": type_only("int32", [-1])}, "reshape_c2")
    cases.fail("refuses a shape of huge rank (c2)", {"x": x, "shape": type_only("int32", [1 << 40])}, "reshape_c2")
    cases.fail("refuses a 0 without a dimension before iOS17 (c3)", {"x": fp32([1, 2]), "shape": ints([2, 0])}, "reshape_c3", opset="ios15")
    for shape in ([-1, -1], [-2, 12], [2147483647, 2147483647, 2147483647]):
        cases.fail(f"refuses {shape} (c4)", {"x": x, "shape": ints(shape)}, "reshape_c4")
    for shape in ([23], [5, -1], [2, 3, 5], []):
        cases.fail(f"refuses {shape} for 24 elements (c5)", {"x": x, "shape": ints(shape)}, "reshape_c5")
    cases.fail("refuses to fit beside an empty dimension (c5)", {"x": fp32(np.zeros((0, 3))), "shape": ints([0, -1])},
               "reshape_c5", opset="ios15")
    cases.write()

    cases = Cases("reshape_like")
    x = fp32(np.arange(12).reshape(3, 4))
    a, b = int32(np.zeros((9, 2, 6))), fp16(np.zeros((2, 7)))

    def like(refs, begins, ends, masks):
        return {"x": x, "ref_tensors": refs, "begins": [int32(v) for v in begins], "ends": [int32(v) for v in ends],
                "end_masks": [boolean(v) for v in masks]}

    cases.add("takes the dimensions of one tensor", like([a], [1], [0], [True]), [fp32(x.array.reshape(2, 6))])
    cases.add("joins the dimensions of two tensors", like([a, b], [2, 0], [3, 1], [False, False]), [fp32(x.array.reshape(6, 2))])
    cases.add("counts negative positions from the end", like([a], [-2], [0], [True]), [fp32(x.array.reshape(2, 6))])
    for dtype in DTYPES:
        cases.add(f"reshapes {dtype}", {**like([a], [1], [0], [True]), "x": tensor(dtype, x.array % 2)}, [tensor(dtype, x.array.reshape(2, 6) % 2)])
    cases.fail("refuses int8 before iOS17 (c1)", {**like([a], [1], [0], [True]), "x": tensor("int8", x.array)}, "reshape_like_c1", opset="ios16")
    cases.fail("refuses lists of different lengths (c2)", like([a], [1, 0], [0], [True]), "reshape_like_c2")
    many = 9
    cases.fail("refuses a result of huge rank (c3)", like([b] * many, [0] * many, [2] * many, [False] * many), "reshape_like_c3")
    cases.fail("refuses another number of elements (c4)", like([a], [0], [2], [False]), "reshape_like_c4")
    cases.write()


def write_axes():
    cases = Cases("transpose")
    moves(cases, lambda x: x.transpose(1, 2, 0), (2, 3, 4), {"perm": ints([1, 2, 0])}, "rotates the axes")
    for shape, perm in (((2, 3), [1, 0]), ((2, 3, 4, 5), [0, 2, 1, 3]), ((2, 3, 4), [0, 1, 2]), ((2, 3, 4), [-1, 0, -2]),
                        ((2, 1, 3, 2, 2), [4, 3, 2, 1, 0]), ((0, 3), [1, 0]), ((5,), [0]), ((1, 64, 1, 3), [0, 3, 2, 1])):
        x = sample("fp32", shape)
        cases.add(f"moves {list(shape)} by {perm}", {"x": x, "perm": ints(perm)}, [fp32(x.array.transpose(perm))])
    cases.add("takes a scalar", {"x": fp32(3), "perm": ints([])}, [fp32(3)])
    x = sample("fp16", (150, 130))  # more than one thread's share
    cases.add("moves large tensors", {"x": x, "perm": ints([1, 0])}, [fp16(x.array.T)])
    before_17(cases, {"perm": ints([1, 0])}, "transpose_c1")
    x = sample("fp32", (2, 3))
    cases.fail("refuses a perm of another length (c2)", {"x": x, "perm": ints([0])}, "transpose_c2")
    cases.fail("refuses an axis twice (c3)", {"x": x, "perm": ints([1, -1])}, "transpose_c3")
    cases.fail("refuses an axis outside (c3)", {"x": x, "perm": ints([0, 2])}, "transpose_c3")
    cases.write()

    cases = Cases("expand_dims")
    moves(cases, lambda x: np.expand_dims(x, 1), (2, 3), {"axes": ints([1])}, "adds an axis")
    x = sample("fp32", (2, 3))
    for axes in ([0], [2], [-1], [-3], [0, 1], [0, -1], [1, 3], []):
        want = np.expand_dims(x.array, tuple(axes))
        cases.add(f"adds {axes}", {"x": x, "axes": ints(axes)}, [fp32(want)])
    cases.add("takes a scalar", {"x": fp32(3), "axes": ints([0, 1])}, [fp32([[3]])])
    before_17(cases, {"axes": ints([0])}, "expand_dims_c1")
    cases.fail("refuses a scalar as axes (c2)", {"x": x, "axes": int32(0)}, "expand_dims_c2")
    cases.fail("refuses huge ranks (c2)", {"x": x, "axes": ints(range(20))}, "expand_dims_c2")
    cases.fail("refuses an axis outside (c3)", {"x": x, "axes": ints([3])}, "expand_dims_c3")
    cases.fail("refuses an axis twice (c3)", {"x": x, "axes": ints([0, -4])}, "expand_dims_c3")
    cases.write()

    cases = Cases("squeeze")
    moves(cases, lambda x: np.squeeze(x, 1), (2, 1, 3), {"axes": ints([1])}, "drops an axis")
    x = sample("fp32", (1, 2, 1, 3))
    for axes in ([0], [2], [-2], [0, 2], []):
        cases.add(f"drops {axes}", {"x": x, "axes": ints(axes)}, [fp32(np.squeeze(x.array, tuple(axes)))])
    cases.add("drops all axes of size 1 by default", {"x": x}, [fp32(np.squeeze(x.array))])
    cases.add("makes a scalar", {"x": fp32([[4]])}, [fp32(4)])
    before_17(cases, {"axes": ints([0])}, "squeeze_c1")
    cases.fail("refuses a scalar as axes (c2)", {"x": x, "axes": int32(0)}, "squeeze_c2")
    for opset in ("ios15", "ios17", "ios18"):
        cases.add(f"leaves unknown dimensions by default, {opset}", {"x": type_only("fp32", [1, -1, 3, 1, -1])}, [type_only("fp32", [-1, 3, -1])], opset=opset, no_kernel=True)
        cases.add(f"leaves named axes of unknown sizes where the program does, {opset}", {"x": type_only("fp32", [-1, 1, 3, -1]), "axes": ints([0, 1])},
                  [type_only("fp32", [-1, 3, -1])], opset=opset, no_kernel=True)
        cases.add(f"drops named axes of unknown sizes where the program does, {opset}", {"x": type_only("fp32", [-1, 1, 3, -1]), "axes": ints([0, 1])},
                  [type_only("fp32", [3, -1])], opset=opset, no_kernel=True)
    cases.fail("refuses an output of another rank (c2)", {"x": type_only("fp32", [1, -1, 3])}, "squeeze_c2", outputs=[type_only("fp32", [3])])
    cases.fail("refuses an output of another rank beside axes (c2)", {"x": type_only("fp32", [1, -1, -1]), "axes": ints([0, 1, 2])}, "squeeze_c2",
               outputs=[type_only("fp32", [-1])])
    cases.fail("refuses an axis outside (c3)", {"x": x, "axes": ints([4])}, "squeeze_c3")
    # As PyTorch, unlike numpy; the example of the documentation is the second.
    cases.add("leaves an axis of more elements", {"x": x, "axes": ints([1])}, [x])
    y = fp32(np.arange(24).reshape(2, 3, 4))
    for opset in ("ios15", "ios17", "ios18"):
        cases.add(f"leaves all axes of more elements, {opset}", {"x": y, "axes": ints([0, 1])}, [y], opset=opset)
    cases.add("drops one axis and leaves another", {"x": x, "axes": ints([1, 2])}, [fp32(np.squeeze(x.array, 2))])
    cases.add("leaves an axis without elements", {"x": fp32(np.zeros((1, 0, 2))), "axes": ints([0, 1])}, [fp32(np.zeros((0, 2)))])
    cases.write()

    cases = Cases("reverse")
    moves(cases, lambda x: np.flip(x, 1), (2, 3, 2), {"axes": ints([1])}, "reverses an axis")
    x = sample("fp32", (2, 3, 4))
    for axes in ([0], [-1], [0, 2], [1, -1], []):
        cases.add(f"reverses {axes}", {"x": x, "axes": ints(axes)}, [fp32(np.flip(x.array, tuple(axes)))])
    cases.add("reverses all axes by default", {"x": x}, [fp32(np.flip(x.array))])
    cases.add("takes no elements", {"x": fp32(np.zeros((2, 0)))}, [fp32(np.zeros((2, 0)))])
    cases.add("takes a scalar", {"x": fp32(1)}, [fp32(1)])
    before_17(cases, {}, "reverse_c1")
    cases.fail("refuses a scalar as axes (c2)", {"x": x, "axes": int32(0)}, "reverse_c2")
    cases.fail("refuses an axis twice (c3)", {"x": x, "axes": ints([0, -3])}, "reverse_c3")
    cases.fail("refuses an axis outside (c3)", {"x": x, "axes": ints([3])}, "reverse_c3")
    cases.write()


def write_joins():
    cases = Cases("concat")
    for dtype in DTYPES:
        xs = [sample(dtype, s) for s in ((2, 1, 3), (2, 2, 3), (2, 0, 3))]
        cases.add(f"joins {dtype}", {"values": xs, "axis": int32(1)}, [tensor(dtype, np.concatenate([x.array for x in xs], 1))])
    xs = [sample("fp16", (2, 3, 4)), sample("fp16", (2, 3, 4))]
    for axis in (0, 1, 2, -1, -3):
        cases.add(f"joins axis {axis}", {"values": xs, "axis": int32(axis)}, [fp16(np.concatenate([x.array for x in xs], axis))])
        want = np.stack([x.array for x in xs], axis % 3 + 1).reshape([d * 2 if i == axis % 3 else d for i, d in enumerate((2, 3, 4))])
        cases.add(f"interleaves axis {axis}", {"values": xs, "axis": int32(axis), "interleave": boolean(True)}, [fp16(want)])
    cases.add("joins scalars to a vector", {"values": [int32(4), int32(5), int32(6)], "axis": int32(0)}, [int32([4, 5, 6])])
    cases.add("takes a single value", {"values": [xs[0]], "axis": int32(0)}, [xs[0]])
    x = sample("fp32", (2, 3))
    cases.fail("refuses a vector as interleave (c1)", {"values": [x], "axis": int32(0), "interleave": boolean([True, True])}, "concat_c1")
    cases.fail("refuses an axis outside (c2)", {"values": [x, x], "axis": int32(2)}, "concat_c2")
    cases.fail("refuses an axis of scalars that is not the first (c2)", {"values": [int32(1)], "axis": int32(1)}, "concat_c2")
    cases.fail("refuses two dtypes (c3)", {"values": [x, fp16(x.array)], "axis": int32(0)}, "concat_c3")
    cases.fail("refuses other dimensions that differ (c4)", {"values": [x, sample("fp32", (2, 4))], "axis": int32(0)}, "concat_c4")
    cases.fail("refuses ranks that differ (c4)", {"values": [x, sample("fp32", (3,))], "axis": int32(0)}, "concat_c4")
    cases.fail("refuses to interleave unequal shapes (c4)",
               {"values": [x, sample("fp32", (1, 3))], "axis": int32(0), "interleave": boolean(True)}, "concat_c4")
    huge = type_only("fp32", [1 << 40])
    cases.fail("refuses too many elements (c5)", {"values": [huge, huge], "axis": int32(0)}, "concat_c5")
    cases.write()

    cases = Cases("stack")
    for dtype in DTYPES15:
        xs = [sample(dtype, (2, 3)) for _ in range(3)]
        for axis in (0, 1, 2, -1):
            cases.add(f"stacks {dtype} on axis {axis}", {"values": xs, "axis": int32(axis)},
                      [tensor(dtype, np.stack([x.array for x in xs], axis))])
    cases.add("stacks scalars", {"values": [fp32(1), fp32(2)], "axis": int32(0)}, [fp32([1, 2])])
    cases.fail("refuses two dtypes (c1)", {"values": [x, fp16(x.array)], "axis": int32(0)}, "stack_c1")
    cases.fail("refuses shapes that differ (c2)", {"values": [x, sample("fp32", (2, 4))], "axis": int32(0)}, "stack_c2")
    cases.fail("refuses an axis outside (c3)", {"values": [x, x], "axis": int32(3)}, "stack_c3")
    huge = type_only("fp32", [1 << 30, 1 << 10])
    cases.fail("refuses too many elements (c4)", {"values": [huge, huge], "axis": int32(0)}, "stack_c4")
    cases.write()

    cases = Cases("split")
    for dtype in DTYPES15:
        x = sample(dtype, (2, 6, 2))
        for axis, parts in ((0, 2), (1, 3), (-2, 2), (2, 1)):
            cases.add(f"splits axis {axis} of {dtype} in {parts}", {"x": x, "num_splits": int32(parts), "axis": int32(axis)},
                      [tensor(dtype, p) for p in np.split(x.array, parts, axis)])
        cases.add(f"splits {dtype} by sizes", {"x": x, "split_sizes": ints([1, 0, 5]), "axis": int32(1)},
                  [tensor(dtype, p) for p in np.split(x.array, [1, 1], 1)])
    x = sample("fp32", (2, 6))
    cases.add("takes both forms when they agree", {"x": x, "num_splits": int32(2), "split_sizes": ints([2, 4]), "axis": int32(1)},
              [fp32(p) for p in np.split(x.array, [2], 1)])
    cases.fail("refuses a vector as num_splits (c1)", {"x": x, "num_splits": ints([2, 3]), "axis": int32(1)}, "split_c1")
    cases.fail("refuses a scalar as split_sizes (c1)", {"x": x, "split_sizes": int32(6), "axis": int32(1)}, "split_c1")
    cases.fail("refuses to guess (c2)", {"x": x, "axis": int32(1)}, "split_c2")
    for n in (0, -1, 2147483647):
        cases.fail(f"refuses {n} parts (c2)", {"x": x, "num_splits": int32(n), "axis": int32(1)}, "split_c2")
    cases.fail("refuses forms that disagree (c2)", {"x": x, "num_splits": int32(3), "split_sizes": ints([2, 4]), "axis": int32(1)}, "split_c2")
    cases.fail("refuses sizes that miss the axis (c3)", {"x": x, "split_sizes": ints([2, 3]), "axis": int32(1)}, "split_c3")
    cases.fail("refuses negative sizes (c3)", {"x": x, "split_sizes": ints([7, -1]), "axis": int32(1)}, "split_c3")
    cases.fail("refuses parts that do not divide (c4)", {"x": x, "num_splits": int32(4), "axis": int32(1)}, "split_c4")
    cases.fail("refuses an axis outside (c5)", {"x": x, "num_splits": int32(2), "axis": int32(2)}, "split_c5")
    cases.write()


def write_repeats():
    cases = Cases("tile")
    moves(cases, lambda x: np.tile(x, (2, 1, 3)), (2, 3, 2), {"reps": ints([2, 1, 3])}, "repeats", DTYPES15)
    for shape, reps in (((3,), [4]), ((2, 3), [1, 1]), ((1, 1), [3, 2]), ((0, 2), [2, 2])):
        x = sample("fp32", shape)
        cases.add(f"repeats {list(shape)} {reps} times", {"x": x, "reps": ints(reps)}, [fp32(np.tile(x.array, reps))])
    cases.add("takes a scalar", {"x": fp32(2), "reps": ints([])}, [fp32(2)])
    x = sample("fp32", (2, 3))
    cases.fail("refuses reps of another length (c1)", {"x": x, "reps": ints([2])}, "tile_c1")
    cases.fail("refuses reps of 0 (c2)", {"x": x, "reps": ints([1, 0])}, "tile_c2")
    cases.fail("refuses too many elements (c3)", {"x": x, "reps": ints([2147483647, 2147483647])}, "tile_c3")
    cases.fail("refuses too many along one axis (c3)", {"x": type_only("fp32", [1 << 39]), "reps": ints([4])}, "tile_c3")
    cases.write()

    cases = Cases("pad")
    for make, name in ((fp32, "fp32"), (fp16, "fp16")):
        x = make(np.arange(1, 25).reshape(2, 3, 4))
        for pad in ([1, 2], [1, 0, 0, 2], [0, 1, 2, 1, 3, 0], [0, 0], []):
            widths = [(0, 0)] * (3 - len(pad) // 2) + [tuple(pad[i:i + 2]) for i in range(0, len(pad), 2)]
            cases.add(f"pads {name} by {pad} with 0 by default", {"x": x, "pad": ints(pad)}, [make(np.pad(x.array, widths))])
            cases.add(f"pads {name} by {pad} with a constant", {"x": x, "pad": ints(pad), "mode": text("constant"), "constant_val": make(-1.5)},
                      [make(np.pad(x.array, widths, constant_values=-1.5))])
            cases.add(f"replicates {name} by {pad}", {"x": x, "pad": ints(pad), "mode": text("replicate")}, [make(np.pad(x.array, widths, mode="edge"))])
        for pad in ([3, 2], [2, 1, 1, 3], [1, 1, 2, 2, 3, 0]):
            widths = [(0, 0)] * (3 - len(pad) // 2) + [tuple(pad[i:i + 2]) for i in range(0, len(pad), 2)]
            cases.add(f"reflects {name} by {pad}", {"x": x, "pad": ints(pad), "mode": text("reflect")}, [make(np.pad(x.array, widths, mode="reflect"))])
    cases.add("takes an fp32 constant for fp16", {"x": fp16([1]), "pad": ints([1, 0]), "constant_val": fp32(0.5)}, [fp16([0.5, 1])])
    cases.add("pads no elements", {"x": fp32(np.zeros((0, 2))), "pad": ints([1, 1, 0, 1])}, [fp32(np.zeros((2, 3)))])
    cases.add("takes a scalar", {"x": fp32(2), "pad": ints([])}, [fp32(2)])
    x = fp32([[1, 2, 3]])
    for pad in ([1], [1, 1, 1, 1, 1, 1]):
        cases.fail(f"refuses {len(pad)} pads for two axes (c1)", {"x": x, "pad": ints(pad)}, "pad_c1")
    cases.fail("refuses a vector as constant (c1)", {"x": x, "pad": ints([1, 1]), "constant_val": fp32([1, 2])}, "pad_c1")
    cases.fail("refuses an unknown mode (c2)", {"x": x, "pad": ints([1, 1]), "mode": text("wrap")}, "pad_c2")
    cases.fail("refuses negative pads (c3)", {"x": x, "pad": ints([-1, 1])}, "pad_c3")
    cases.fail("refuses to reflect more than there is (c4)", {"x": x, "pad": ints([3, 0]), "mode": text("reflect")}, "pad_c4")
    cases.fail("refuses to replicate nothing (c4)", {"x": fp32(np.zeros((0,))), "pad": ints([1, 0]), "mode": text("replicate")}, "pad_c4")
    cases.fail("refuses too many elements (c5)", {"x": x, "pad": ints([2147483647] * 4)}, "pad_c5")
    cases.write()


def write_makers():
    cases = Cases("fill")
    for dtype, value in (("fp32", 1.5), ("fp16", -2.5), ("int32", 2147483647), ("bool", True)):
        cases.add(f"fills {dtype}", {"shape": ints([2, 3]), "value": tensor(dtype, value)}, [tensor(dtype, np.full((2, 3), value))])
    cases.add("fills with fp32 zeros by default", {"shape": ints([3])}, [fp32(np.zeros(3))])
    cases.add("makes a scalar", {"shape": ints([]), "value": int32(4)}, [int32(4)])
    cases.add("makes no elements", {"shape": ints([2, 0])}, [fp32(np.zeros((2, 0)))])
    cases.fail("refuses a scalar as shape (c1)", {"shape": int32(3)}, "fill_c1")
    cases.fail("refuses a vector as value (c1)", {"shape": ints([3]), "value": fp32([1, 2])}, "fill_c1")
    cases.fail("refuses an empty value (c1)", {"shape": ints([3]), "value": fp32([])}, "fill_c1")
    cases.fail("refuses an unknown rank (c2)", {"shape": type_only("int32", [-1])}, "fill_c2")
    cases.fail("refuses a huge rank (c2)", {"shape": ints([1] * 40)}, "fill_c2")
    cases.fail("refuses negative dimensions (c3)", {"shape": ints([-1])}, "fill_c3")
    cases.fail("refuses too many elements (c3)", {"shape": ints([2147483647, 2147483647])}, "fill_c3")
    cases.write()

    cases = Cases("fill_like")
    for dtype, value in (("fp32", 1.5), ("fp16", -2.5), ("int32", 7), ("bool", True)):
        cases.add(f"fills {dtype} like int32", {"ref_tensor": sample("int32", (2, 3)), "value": tensor(dtype, value)},
                  [tensor(dtype, np.full((2, 3), value))])
    cases.add("fills like fp32", {"ref_tensor": fp32([[1], [2]]), "value": int32(4)}, [int32([[4], [4]])])
    cases.add("fills with fp32 zeros by default", {"ref_tensor": sample("fp16", (3,))}, [fp32(np.zeros(3))])
    cases.add("takes a scalar", {"ref_tensor": boolean(True), "value": int32(4)}, [int32(4)])
    cases.fail("refuses a vector as value (c1)", {"ref_tensor": fp32([1]), "value": fp32([1, 2])}, "fill_like_c1")
    cases.fail("refuses too many elements (c2)", {"ref_tensor": type_only("fp32", HUGE)}, "fill_like_c2")
    cases.fail("is not known before iOS16", {"ref_tensor": fp32([1])}, "ios16", opset="ios15")
    cases.write()

    cases = Cases("range_1d")
    for make, name in ((int32, "int32"), (fp32, "fp32"), (fp16, "fp16")):
        for start, end, step in ((0, 5, 1), (2, 12, 3), (5, 0, -2), (3, 3, 1), (3, 1, 1), (-4, 4, 4)):
            cases.add(f"counts {name} from {start} to {end} by {step}", {"start": make(start), "end": make(end), "step": make(step)},
                      [make(np.arange(start, end, step))])
    cases.add("counts by fractions", {"start": fp32(0.5), "end": fp32(2.0), "step": fp32(0.25)}, [fp32(np.arange(0.5, 2.0, 0.25))])
    cases.add("takes vectors of one element", {"start": int32([0]), "end": int32([3]), "step": int32([1])}, [int32([0, 1, 2])])
    cases.add("reaches the ends of int32", {"start": int32(-2147483648), "end": int32(2147483647), "step": int32(2147483647)},
              [int32([-2147483648, -1, 2147483646])])
    three = {"start": int32(0), "end": int32(3)}
    cases.fail("refuses a vector (c1)", {**three, "step": int32([1, 2])}, "range_1d_c1")
    cases.fail("refuses a step of 0 (c2)", {**three, "step": int32(0)}, "range_1d_c2")
    cases.fail("refuses too many elements (c3)", {"start": fp32(0), "end": fp32(1e30), "step": fp32(1e-3)}, "range_1d_c3")
    cases.fail("refuses a length that is no number (c3)", {"start": fp32(0), "end": fp32(np.nan), "step": fp32(1)}, "range_1d_c3")
    cases.fail("refuses two dtypes", {**three, "step": fp32(1)}, "parameter")
    cases.write()

    cases = Cases("shape")
    for dtype in DTYPES15:
        cases.add(f"gives the dimensions of {dtype}", {"x": sample(dtype, (2, 1, 3))}, [int32([2, 1, 3])])
    cases.add("gives nothing for a scalar", {"x": fp32(1)}, [int32([])])
    cases.add("sees empty dimensions", {"x": fp32(np.zeros((2, 0)))}, [int32([2, 0])])
    cases.fail("refuses int8", {"x": tensor("int8", [1])}, "cannot be")
    cases.write()

    cases = Cases("band_part")

    def band(x, lower, upper):
        row, column = np.indices(x.shape[-2:])
        keep = ((lower < 0) | (row - column <= lower)) & ((upper < 0) | (column - row <= upper))
        return np.where(keep, x, np.zeros_like(x))

    for dtype in DTYPES15:
        x = tensor(dtype, np.ones((2, 4, 5)) if dtype == "bool" else np.arange(1, 41).reshape(2, 4, 5))
        for lower, upper in ((-1, 0), (0, -1), (1, 2), (0, 0), (-1, -1), (9, 9), (2147483647, 2147483647)):
            cases.add(f"keeps {lower} and {upper} diagonals of {dtype}", {"x": x, "lower": int32(lower), "upper": int32(upper)},
                      [tensor(dtype, band(x.array, lower, upper))])
    x = fp32(np.ones((3, 2)))
    cases.add("keeps all by default", {"x": x}, [x])
    cases.add("takes the default of one side", {"x": x, "upper": int32(0)}, [fp32(band(x.array, -1, 0))])
    cases.add("takes no columns", {"x": fp32(np.zeros((3, 0)))}, [fp32(np.zeros((3, 0)))])
    cases.fail("refuses a vector as lower (c1)", {"x": x, "lower": ints([1, 2])}, "band_part_c1")
    cases.fail("refuses a vector as x (c2)", {"x": fp32([1, 2])}, "band_part_c2")
    cases.write()


if __name__ == "__main__":
    write_reshape()
    write_axes()
    write_joins()
    write_repeats()
    write_makers()

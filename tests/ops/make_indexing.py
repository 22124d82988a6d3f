# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category indexing. numpy is the oracle; see cases.py.

With PyTorch installed the scatters are compared with torch too. Run: python3 tests/ops/make_indexing.py
"""

import itertools

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

try:
    import torch
except ImportError:
    torch = None

RANDOM = np.random.default_rng(19)
DTYPES15 = ("fp16", "fp32", "int32")
DTYPES = DTYPES15 + ("int8", "uint8", "int16", "uint16")
INDEX_DTYPES = ("int32", "int16", "uint16", "int8", "uint8")
MODES = ("add", "sub", "mul", "div", "max", "min", "update")


def sample(dtype, *shape):
    """Distinct values, as far as the dtype has them."""
    return tensor(dtype, RANDOM.permutation(np.arange(int(np.prod(shape))) % 120).reshape(shape))


def gather(x, indices, axis=0, batch_dims=0):
    """np.take, for each place of the batch dimensions."""
    if batch_dims == 0:
        return np.take(x, indices, axis)
    return np.stack([gather(a, i, axis - 1, batch_dims - 1) for a, i in zip(x, indices)])


def gather_nd(x, indices, batch_dims=0):
    if batch_dims > 0:
        return np.stack([gather_nd(a, i, batch_dims - 1) for a, i in zip(x, indices)])
    rest = x.shape[indices.shape[-1]:]
    rows = [x[tuple(place)] for place in indices.reshape(-1, indices.shape[-1])]
    return np.array(rows).reshape(indices.shape[:-1] + rest)


def refuse_dtypes(cases, inputs, op):
    """The limits of the older opsets, for the gathers."""
    x, index = inputs["x"].array, inputs["indices"].array
    cases.fail("refuses int8 elements before iOS17 (c3)", {**inputs, "x": tensor("int8", x)}, f"{op}_c3", opset="ios16")
    cases.fail("refuses int8 indices before iOS17 (c3)", {**inputs, "indices": tensor("int8", index)}, f"{op}_c3", opset="ios16")
    cases.fail("refuses int16 indices before iOS16 (c3)", {**inputs, "indices": tensor("int16", index)}, f"{op}_c3", opset="ios15")
    cases.fail("refuses bool elements", {**inputs, "x": boolean(x)}, 'parameter "x" cannot be')
    cases.fail("refuses float indices", {**inputs, "indices": fp32(index)}, 'parameter "indices" cannot be')
    cases.fail("refuses validate_indices before iOS17", {**inputs, "validate_indices": boolean(False)}, "exists from ios17 on", opset="ios16")


def refuse_indices(cases, operands, first, op, size):
    """Indices that only the kernel sees. `first` replaces the first index of the operands by another."""
    for wrong in (size, -size - 1, 2**31 - 1, -2**31):
        cases.fail(f"refuses the index {wrong} (c4)", first(operands, wrong), f"{op}_c4")
    # With and without a check: what Core ML gives without one is not defined.
    checks = {"in iOS15": ("ios15", {}), **{f"in iOS17, validate_indices {v}": ("ios17", {"validate_indices": boolean(v)}) for v in (False, True)}}
    for wrong, (what, (opset, given)) in itertools.product((size, -size - 1, 2**31 - 1), checks.items()):
        cases.fail(f"refuses the index {wrong} {what} (c4)", {**first(operands, wrong), **given}, f"{op}_c4", opset=opset)
    for opset in ("ios17", "ios18"):
        checked = {**first(operands, -1), "validate_indices": boolean(True)}
        cases.fail(f"refuses negative indices when it is to validate them in {opset} (c4)", checked, f"{op}_c4", opset=opset)


def with_first(operands, index):
    changed = operands["indices"].array.copy()
    changed.reshape(-1)[0] = index
    return {**operands, "indices": int32(changed)}


def make_gather():
    cases = Cases("gather")
    for dtype in DTYPES:
        x = sample(dtype, 4, 3)
        cases.add(f"takes rows, {dtype}", {"x": x, "indices": int32([3, 0, 0])}, [tensor(dtype, x.array[[3, 0, 0]])])
    x = sample("fp32", 2, 5, 3)
    for dtype in INDEX_DTYPES:
        index = tensor(dtype, [[4, 0], [1, 1]])
        cases.add(f"takes {dtype} indices", {"x": x, "indices": index, "axis": int32(1)}, [fp32(gather(x.array, index.array, 1))])
    for axis, index in itertools.product((0, 1, 2, -1, -3), (1, [1], [[0, 1], [1, 1]], [])):
        index = np.array(index, np.int32)
        cases.add(f"takes {index.tolist()} of axis {axis}", {"x": x, "indices": int32(index), "axis": int32(axis)}, [fp32(gather(x.array, index, axis))])
    cases.add("counts negative indices from the end", {"x": x, "indices": int32([-1, -5, 2]), "axis": int32(1)}, [fp32(gather(x.array, [-1, -5, 2], 1))])
    cases.add("makes a scalar", {"x": fp16([5, 6, 7]), "indices": int32(2)}, [fp16(7)])
    cases.add("takes int16 indices in iOS16", {"x": x, "indices": tensor("int16", [1])}, [fp32(x.array[[1]])], opset="ios16")
    cases.add("works in iOS15", {"x": x, "indices": int32([1])}, [fp32(x.array[[1]])], opset="ios15")
    cases.add("checks indices when it is to validate them", {"x": x, "indices": int32([1]), "validate_indices": boolean(True)}, [fp32(x.array[[1]])])
    x = sample("fp16", 2, 3, 4, 2)
    for batch_dims, axis, shape in ((1, 1, (2, 5)), (1, 2, (2, 5)), (1, -1, (2, 2, 3)), (2, 2, (2, 3, 5)), (2, 3, (2, 3)),
                                    (2, -1, (2, 3, 1, 2)), (0, 2, (2, 3))):
        index = RANDOM.integers(0, x.array.shape[axis], shape)
        cases.add(f"takes {list(shape)} of axis {axis} in {batch_dims} batch dimensions",
                  {"x": x, "indices": int32(index), "axis": int32(axis), "batch_dims": int32(batch_dims)},
                  [fp16(gather(x.array, index, axis % 4, batch_dims))])
    x = sample("fp16", 20, 90)
    index = RANDOM.integers(0, 20, 400)
    cases.add("takes more rows than one thread's share", {"x": x, "indices": int32(index)}, [fp16(x.array[index])])
    cases.add("takes nothing of nothing", {"x": fp32(np.zeros((0, 3))), "indices": int32([])}, [fp32(np.zeros((0, 3)))])
    cases.add("takes empty rows without counting them one by one",
              {"x": fp32(np.zeros((2**20, 2, 0))), "indices": int32(np.zeros(2**10)), "axis": int32(1)},
              [fp32(np.zeros((2**20, 2**10, 0)))])

    cases.add("takes nothing of many empty rows", {"x": fp32(np.zeros((2**40, 0))), "indices": int32([]), "axis": int32(1)}, [fp32(np.zeros((2**40, 0)))])

    x = sample("fp32", 2, 5, 3)
    inputs = {"x": x, "indices": int32([[1, 0], [0, 1]])}
    for axis in (3, -4):
        cases.fail(f"refuses axis {axis} (c1)", {**inputs, "axis": int32(axis)}, "gather_c1")
    cases.fail("refuses a scalar (c1)", {**inputs, "x": fp32(1)}, "gather_c1")
    cases.fail("refuses two axes (c1)", {**inputs, "axis": int32([0, 1])}, "gather_c1")
    for batch_dims in (-1, 2, 2**31 - 1):
        cases.fail(f"refuses {batch_dims} batch dimensions (c2)", {**inputs, "axis": int32(1), "batch_dims": int32(batch_dims)}, "gather_c2")
    cases.fail("refuses more batch dimensions than the indices have (c2)", {**inputs, "indices": int32([1]), "axis": int32(2), "batch_dims": int32(2)}, "gather_c2")
    cases.fail("refuses batches of two sizes (c2)", {**inputs, "indices": int32([[1]] * 3), "axis": int32(1), "batch_dims": int32(1)}, "gather_c2")
    cases.fail("refuses batch_dims before iOS16", {**inputs, "batch_dims": int32(0)}, "exists from ios16 on", opset="ios15")
    refuse_dtypes(cases, inputs, "gather")
    refuse_indices(cases, inputs, with_first, "gather", 2)
    cases.fail("refuses indices into nothing (c4)", {"x": fp32(np.zeros((0, 3))), "indices": int32([0])}, "gather_c4")
    cases.fail("refuses an output that no machine holds (c5)", {"x": type_only("fp16", [1, 2**31]), "indices": type_only("int32", [2**31])}, "gather_c5")
    cases.write()


def make_gather_along_axis():
    op = "gather_along_axis"
    cases = Cases(op)
    for dtype in DTYPES:
        x = sample(dtype, 3, 4)
        index = RANDOM.integers(0, 3, (2, 4))
        cases.add(f"takes an element of each column, {dtype}", {"x": x, "indices": int32(index)}, [tensor(dtype, np.take_along_axis(x.array, index, 0))])
    x = sample("fp32", 2, 5, 3)
    for dtype in INDEX_DTYPES:
        index = tensor(dtype, RANDOM.integers(0, 5, (2, 4, 3)))
        cases.add(f"takes {dtype} indices", {"x": x, "indices": index, "axis": int32(1)}, [fp32(np.take_along_axis(x.array, index.array.astype(np.int64), 1))])
    for axis, count in itertools.product((0, 1, 2, -1, -2, -3), (0, 1, 7)):
        shape = list(x.array.shape)
        shape[axis] = count
        index = RANDOM.integers(-x.array.shape[axis], x.array.shape[axis], shape)
        cases.add(f"takes {count} elements along axis {axis}", {"x": x, "indices": int32(index), "axis": int32(axis)},
                  [fp32(np.take_along_axis(x.array, index, axis))])
    cases.add("takes elements of a vector", {"x": fp16([5, 6, 7]), "indices": int32([2, 2, 0, -1])}, [fp16([7, 7, 5, 7])])
    cases.add("works in iOS15", {"x": fp32([5, 6, 7]), "indices": int32([2])}, [fp32([7])], opset="ios15")
    cases.add("checks indices when it is to validate them", {"x": fp32([5, 6]), "indices": int32([1]), "validate_indices": boolean(True)}, [fp32([6])])
    cases.add("takes nothing of nothing", {"x": fp32(np.zeros((2, 0))), "indices": int32(np.zeros((0, 0)))}, [fp32(np.zeros((0, 0)))])
    cases.add("takes nothing of many empty rows", {"x": fp32(np.zeros((2**40, 0))), "indices": int32(np.zeros((2**40, 0))), "axis": int32(1)},
              [fp32(np.zeros((2**40, 0)))])

    inputs = {"x": sample("fp32", 2, 3), "indices": int32([[1, 0, 1]])}
    for axis in (2, -3):
        cases.fail(f"refuses axis {axis} (c1)", {**inputs, "axis": int32(axis)}, f"{op}_c1")
    cases.fail("refuses a scalar (c1)", {"x": fp32(1), "indices": int32(0)}, f"{op}_c1")
    cases.fail("refuses indices of another rank (c2)", {**inputs, "indices": int32([1, 0, 1])}, f"{op}_c2")
    cases.fail("refuses indices of another size beside the axis (c2)", {**inputs, "indices": int32([[1, 0]])}, f"{op}_c2")
    refuse_dtypes(cases, inputs, op)
    refuse_indices(cases, inputs, with_first, op, 2)
    cases.fail("refuses an output that no machine holds (c5)", {"x": type_only("fp16", [1, 2**31]), "indices": type_only("int32", [2**31, 2**31])}, f"{op}_c5")
    cases.write()


def make_gather_nd():
    op = "gather_nd"
    cases = Cases(op)
    for dtype in DTYPES:
        x = sample(dtype, 3, 4)
        index = np.array([[2, 1], [0, 0], [2, 3]])
        cases.add(f"takes points, {dtype}", {"x": x, "indices": int32(index)}, [tensor(dtype, gather_nd(x.array, index))])
    x = sample("fp32", 3, 4, 2)
    for dtype in INDEX_DTYPES:
        index = tensor(dtype, [[2, 1], [0, 3]])
        cases.add(f"takes {dtype} indices", {"x": x, "indices": index}, [fp32(gather_nd(x.array, index.array.astype(np.int64)))])
    for shape in ((1,), (2,), (3,), (5, 1), (2, 2, 2), (2, 1, 3), (0, 2)):
        index = np.stack([RANDOM.integers(-n, n, shape[:-1]) for n in x.array.shape[:shape[-1]]], -1)
        cases.add(f"takes places {list(shape)}", {"x": x, "indices": int32(index)}, [fp32(gather_nd(x.array, index))])
    cases.add("takes all of x at a place without coordinates", {"x": x, "indices": int32(np.zeros((2, 0)))}, [fp32(np.stack([x.array] * 2))])
    cases.add("takes a scalar at a place without coordinates", {"x": fp32(7), "indices": int32(np.zeros((3, 0)))}, [fp32([7, 7, 7])])
    cases.add("works in iOS15", {"x": x, "indices": int32([[1]])}, [fp32(x.array[[1]])], opset="ios15")
    cases.add("checks indices when it is to validate them", {"x": x, "indices": int32([[1]]), "validate_indices": boolean(True)}, [fp32(x.array[[1]])])
    x = sample("fp16", 2, 3, 4, 2)
    for batch_dims, shape in ((1, (2, 1)), (1, (2, 5, 2)), (1, (2, 5, 3)), (2, (2, 3, 1)), (2, (2, 3, 4, 2))):
        index = np.stack([RANDOM.integers(0, n, shape[:-1]) for n in x.array.shape[batch_dims:batch_dims + shape[-1]]], -1)
        cases.add(f"takes places {list(shape)} in {batch_dims} batch dimensions", {"x": x, "indices": int32(index), "batch_dims": int32(batch_dims)},
                  [fp16(gather_nd(x.array, index, batch_dims))])
    cases.add("takes empty rows without counting them one by one", {"x": fp32([]), "indices": int32(np.zeros((2**40, 0)))}, [fp32(np.zeros((2**40, 0)))])
    cases.add("takes no places in many batches", {"x": fp32(np.zeros((2**40, 0))), "indices": int32(np.zeros((2**40, 0, 1))), "batch_dims": int32(1)},
              [fp32(np.zeros((2**40, 0)))])

    inputs = {"x": sample("fp32", 2, 3), "indices": int32([[1, 0], [0, 1]])}
    cases.fail("refuses scalar indices (c1)", {**inputs, "indices": int32(0)}, f"{op}_c1")
    cases.fail("refuses more coordinates than x has axes (c1)", {**inputs, "indices": int32([[0, 0, 0]])}, f"{op}_c1")
    cases.fail("refuses more coordinates than the batches leave (c1)", {**inputs, "batch_dims": int32(1)}, f"{op}_c1")
    cases.fail("refuses an unknown number of coordinates (c1)", {**inputs, "indices": type_only("int32", [2, -1])}, f"{op}_c1")
    for batch_dims in (-1, 2, 2**31 - 1):
        cases.fail(f"refuses {batch_dims} batch dimensions (c2)", {**inputs, "batch_dims": int32(batch_dims)}, f"{op}_c2")
    cases.fail("refuses batches of two sizes (c2)", {**inputs, "indices": int32([[1]] * 3), "batch_dims": int32(1)}, f"{op}_c2")
    cases.fail("refuses batch_dims before iOS16", {**inputs, "batch_dims": int32(0)}, "exists from ios16 on", opset="ios15")
    refuse_dtypes(cases, inputs, op)
    refuse_indices(cases, inputs, with_first, op, 2)
    cases.fail("refuses an output that no machine holds (c5)", {"x": type_only("fp16", [1, 2**31]), "indices": type_only("int32", [2**31, 1])}, f"{op}_c5")
    cases.write()


def make_non_zero():
    cases = Cases("non_zero")
    for dtype in DTYPES15 + ("bool",):
        x = tensor(dtype, [[0, 3, 0], [1, 0, 1]])
        cases.add(f"finds the coordinates, {dtype}", {"x": x}, [int32(np.argwhere(x.array))])
    for name, x in (("a vector", [0, -1, 0.5]), ("zeros", np.zeros((2, 2))), ("a rank of four", RANDOM.integers(0, 2, (2, 3, 2, 4))),
                    ("nothing", np.zeros((0, 3))), ("minus zero and not a number", [-0.0, np.nan, np.inf, 1e-40])):
        cases.add(f"takes {name}", {"x": fp32(x)}, [int32(np.argwhere(fp32(x).array))])
    cases.add("finds one place without coordinates in a scalar", {"x": fp32(3)}, [int32(np.zeros((1, 0)))])
    cases.add("finds none in a scalar zero", {"x": fp32(0)}, [int32(np.zeros((0, 0)))])
    cases.fail("refuses int8", {"x": tensor("int8", [1])}, 'parameter "x" cannot be')
    cases.write()


def combine(mode, old, new):
    if mode == "update":
        return new
    if mode == "div":  # integers toward zero
        return old / new if isinstance(old, np.floating) else type(old)(np.trunc(np.float64(old) / np.float64(new)))
    return {"add": lambda: old + new, "sub": lambda: old - new, "mul": lambda: old * new, "max": lambda: max(old, new),
            "min": lambda: min(old, new)}[mode]()


def scatter(data, places, updates, mode):
    """One update after the other. `places`: (index into data, index into updates) pairs; both may give slices."""
    wide = data.dtype if data.dtype.kind == "i" else np.dtype(np.float32)
    out, new = data.astype(wide), updates.astype(wide)
    for to, at in places:
        old, update = np.atleast_1d(out[to]), np.atleast_1d(new[at])
        with np.errstate(over="ignore"):
            changed = [combine(mode, a, b) for a, b in zip(old.reshape(-1), update.reshape(-1))]
        out[to] = np.array(changed, wide).reshape(out[to].shape)
    return out


def places_on_axis(shape, indices, axis):
    for before in np.ndindex(*shape[:axis]):
        for place in np.ndindex(*indices.shape):
            yield before + (int(indices[place]),), before + place


def places_along_axis(indices, axis):
    for place in np.ndindex(*indices.shape):
        yield place[:axis] + (int(indices[place]),) + place[axis + 1:], place


def places_at_points(indices):
    for place in np.ndindex(*indices.shape[:-1]):
        yield tuple(int(i) for i in indices[place]), place


def scatter_values(dtype, shape):
    """Small numbers, 0 not among them: quotients and products stay in the range of fp16."""
    values = RANDOM.integers(1, 5, shape) * RANDOM.choice([-1, 1], shape)
    return tensor(dtype, values)


def add_scatters(cases, shape, updates_shape, inputs, places, what, modes=(None,), dtypes=("fp32",), **rest):
    for mode, dtype in itertools.product(modes, dtypes):
        data, updates = scatter_values(dtype, shape), scatter_values(dtype, updates_shape)
        want = scatter(data.array, list(places), updates.array, mode or "add")
        operands = {"data": data, "updates": updates, **inputs}
        if mode is not None:
            operands["mode"] = text(mode)
        cases.add(", ".join(p for p in (what, mode, dtype if len(dtypes) > 1 else None) if p), operands, [tensor(dtype, want)], **rest)


def operands(data, indices, updates, mode=None):
    return {"data": data, "indices": indices, "updates": updates, **({"mode": text(mode)} if mode else {})}


def refuse_scatters(cases, inputs, op, size):
    data, updates = inputs["data"].array, inputs["updates"].array
    cases.fail("refuses an unknown mode (c2)", {**inputs, "mode": text("xor")}, f"{op}_c2")
    cases.fail("refuses updates of another shape (c3)", {**inputs, "updates": fp32(updates[:, :-1])}, f"{op}_c3")
    cases.fail("refuses updates of another rank (c3)", {**inputs, "updates": fp32(updates.reshape(-1))}, f"{op}_c3")
    cases.fail("refuses updates of another dtype", {**inputs, "updates": fp16(updates)}, "expected fp32 as the operands before it")
    cases.fail("refuses int8 elements", {**inputs, "data": tensor("int8", data), "updates": tensor("int8", updates)}, 'parameter "data" cannot be')
    cases.fail("refuses int16 indices", {**inputs, "indices": tensor("int16", inputs["indices"].array)}, 'parameter "indices" cannot be')
    cases.fail("refuses validate_indices before iOS17", {**inputs, "validate_indices": boolean(False)}, "exists from ios17 on", opset="ios16")
    refuse_indices(cases, inputs, with_first, op, size)


def add_common_scatters(cases, index):
    """What the three scatters share: for a vector of 4 and indices that reach the same place."""
    two = index([2, 2])
    x, y = [1, 60000, 3, 4], [2, 5]
    cases.add("keeps the last of several updates of a place", operands(fp32(x), two, fp32(y), "update"), [fp32([1, 60000, 5, 4])])
    cases.add("adds in order, rounding once", operands(fp16([0, 0, 2048, 0]), two, fp16([1, 1]), "add"), [fp16([0, 0, 2050, 0])])
    cases.add("overflows fp16 to infinity", operands(fp16(x), index([1, 1]), fp16([60000, 1])), [fp16([1, np.inf, 3, 4])])
    cases.add("wraps integers around", operands(int32([1, 2, 2**31 - 1, 4]), two, int32([1, 1]), "add"), [int32([1, 2, -2**31 + 1, 4])])
    cases.add("counts negative indices from the end", operands(fp32(x), index([-1, -4]), fp32(y)), [fp32([6, 60000, 3, 6])])
    for opset, validate in (("ios15", {}), ("ios17", {}), ("ios17", {"validate_indices": boolean(False)})):
        cases.add(f"counts negative indices from the end in {opset}{', validate_indices False' if validate else ''}",
                  {**operands(fp32(x), index([-1, -4]), fp32(y), "update"), **validate}, [fp32([5, 60000, 3, 2])], opset=opset)
    cases.add("changes nothing without indices", operands(fp32(x), index([]), fp32([])), [fp32(x)])
    cases.add("takes no elements", operands(fp32([]), index([]), fp32([])), [fp32([])])


def check_with_torch(data, index, updates, axis):
    """Our loops against torch's index_add and scatter_add."""
    if torch is None:
        return
    want = torch.tensor(data).index_add(axis, torch.tensor(index), torch.tensor(updates)).numpy()
    assert np.array_equal(scatter(data, places_on_axis(data.shape, index, axis), updates, "add"), want)
    full = RANDOM.integers(0, data.shape[axis], updates.shape)
    want = torch.tensor(data).scatter_add(axis, torch.tensor(full), torch.tensor(updates)).numpy()
    assert np.array_equal(scatter(data, places_along_axis(full, axis), updates, "add"), want)


def make_scatter():
    op = "scatter"
    cases = Cases(op)
    index = np.array([3, 0, 3])
    add_scatters(cases, (4, 2), (3, 2), {"indices": int32(index)}, list(places_on_axis((4, 2), index, 0)), "scatters rows", modes=MODES, dtypes=DTYPES15)
    add_scatters(cases, (4, 2), (3, 2), {"indices": int32(index)}, list(places_on_axis((4, 2), index, 0)), "adds by default")
    for axis, index in itertools.product((1, 2, -1, -3), (1, [0], [[0, 1], [1, 1]])):
        index = np.array(index)
        updates = (2, 5, 3)[:axis % 3] + index.shape + (2, 5, 3)[axis % 3 + 1:]
        add_scatters(cases, (2, 5, 3), updates, {"indices": int32(index), "axis": int32(axis)},
                     list(places_on_axis((2, 5, 3), index, axis % 3)), f"scatters to {index.tolist()} of axis {axis}")
    add_scatters(cases, (3,), (2,), {"indices": int32([1, 2])}, list(places_on_axis((3,), np.array([1, 2]), 0)), "works in iOS15", opset="ios15")
    add_scatters(cases, (3,), (2,), {"indices": int32([1, 2]), "validate_indices": boolean(True)},
                 list(places_on_axis((3,), np.array([1, 2]), 0)), "checks indices when it is to validate them")

    add_common_scatters(cases, int32)
    cases.add("takes empty rows without counting them one by one",
              {"data": fp32(np.zeros((2**30, 2, 0))), "indices": int32(np.zeros(2**10)), "updates": fp32(np.zeros((2**30, 2**10, 0))), "axis": int32(1)},
              [fp32(np.zeros((2**30, 2, 0)))])
    check_with_torch(np.arange(30.0, dtype=np.float32).reshape(2, 5, 3), np.array([4, 1, 4]), np.ones((2, 3, 3), np.float32), 1)

    inputs = operands(fp32(np.zeros((2, 3))), int32([1, 0]), fp32(np.ones((2, 3))))
    for axis in (2, -3):
        cases.fail(f"refuses axis {axis} (c1)", {**inputs, "axis": int32(axis)}, "scatter_c1")
    cases.fail("refuses a scalar (c1)", {**inputs, "data": fp32(1)}, "scatter_c1")
    refuse_scatters(cases, inputs, op, 2)
    cases.write()


def make_scatter_along_axis():
    op = "scatter_along_axis"
    cases = Cases(op)
    index = np.array([[3, 0], [0, 0], [3, 1]])
    add_scatters(cases, (4, 2), (3, 2), {"indices": int32(index)}, list(places_along_axis(index, 0)), "scatters into columns", modes=MODES, dtypes=DTYPES15)
    add_scatters(cases, (4, 2), (3, 2), {"indices": int32(index)}, list(places_along_axis(index, 0)), "adds by default")
    for axis, count in itertools.product((1, 2, -1, -3), (0, 1, 6)):
        shape = [2, 5, 3]
        shape[axis] = count
        index = RANDOM.integers(0, (2, 5, 3)[axis], shape)
        add_scatters(cases, (2, 5, 3), tuple(shape), {"indices": int32(index), "axis": int32(axis)},
                     list(places_along_axis(index, axis % 3)), f"scatters {count} along axis {axis}")
    add_scatters(cases, (3,), (2,), {"indices": int32([1, 2])}, list(places_along_axis(np.array([1, 2]), 0)), "works in iOS15", opset="ios15")
    add_scatters(cases, (3,), (2,), {"indices": int32([1, 2]), "validate_indices": boolean(True)},
                 list(places_along_axis(np.array([1, 2]), 0)), "checks indices when it is to validate them")

    add_common_scatters(cases, int32)
    inputs = operands(fp32(np.zeros((2, 3))), int32([[1, 0, 1]]), fp32(np.ones((1, 3))))
    for axis in (2, -3):
        cases.fail(f"refuses axis {axis} (c1)", {**inputs, "axis": int32(axis)}, f"{op}_c1")
    cases.fail("refuses a scalar (c1)", operands(fp32(1), int32(0), fp32(1)), f"{op}_c1")
    cases.fail("refuses indices of another rank (c3)", {**inputs, "indices": int32([1, 0, 1])}, f"{op}_c3")
    cases.fail("refuses indices of another size beside the axis (c3)", {**inputs, "indices": int32([[1, 0]]), "updates": fp32([[1, 1]])}, f"{op}_c3")
    refuse_scatters(cases, inputs, op, 2)
    cases.write()


def make_scatter_nd():
    op = "scatter_nd"
    cases = Cases(op)
    index = np.array([[3, 0], [0, 0], [3, 0]])
    add_scatters(cases, (4, 2), (3,), {"indices": int32(index)}, list(places_at_points(index)), "scatters to points", modes=MODES, dtypes=DTYPES15)
    add_scatters(cases, (4, 2), (3,), {"indices": int32(index)}, list(places_at_points(index)), "adds by default")
    shape = (3, 4, 2)
    for places in ((1,), (2,), (3,), (5, 1), (2, 2, 2), (2, 1, 3), (0, 2), (2, 0)):
        index = np.zeros(places, np.int64)
        for d in range(places[-1]):
            index[..., d] = RANDOM.integers(-shape[d], shape[d], places[:-1])
        add_scatters(cases, shape, places[:-1] + shape[places[-1]:], {"indices": int32(index)}, list(places_at_points(index)),
                     f"scatters to places {list(places)}")
    add_scatters(cases, (3,), (2,), {"indices": int32([[1], [2]])}, [((1,), (0,)), ((2,), (1,))], "works in iOS15", opset="ios15")
    add_scatters(cases, (3,), (2,), {"indices": int32([[1], [2]]), "validate_indices": boolean(True)}, [((1,), (0,)), ((2,), (1,))],
                 "checks indices when it is to validate them")
    cases.add("updates a scalar", {"data": fp32(1), "indices": int32(np.zeros((2, 0))), "updates": fp32([2, 3])}, [fp32(6)])

    add_common_scatters(cases, lambda values: int32(np.reshape(values, (-1, 1))))
    cases.add("takes empty rows without counting them one by one",
              {"data": fp32([]), "indices": int32(np.zeros((2**40, 0))), "updates": fp32(np.zeros((2**40, 0)))}, [fp32([])])
    inputs = operands(fp32(np.zeros((2, 3))), int32([[1], [0]]), fp32(np.ones((2, 3))))
    cases.fail("refuses scalar indices (c1)", {**inputs, "indices": int32(0)}, f"{op}_c1")
    cases.fail("refuses more coordinates than data has axes (c1)", {**inputs, "indices": int32([[0, 0, 0]])}, f"{op}_c1")
    cases.fail("refuses an unknown number of coordinates (c1)", {**inputs, "indices": type_only("int32", [2, -1])}, f"{op}_c1")
    refuse_scatters(cases, inputs, op, 2)
    cases.write()


for make in (make_gather, make_gather_along_axis, make_gather_nd, make_non_zero, make_scatter, make_scatter_along_axis, make_scatter_nd):
    make()

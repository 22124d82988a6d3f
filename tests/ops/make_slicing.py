# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the operations that take or replace slices. numpy is the oracle.
Run: python3 tests/ops/make_slicing.py"""

import numpy as np

from cases import Cases, boolean, fp16, fp32, tensor
from make_shape import DTYPES, before_17, ints, moves, sample


def python_slice(request, rank):
    """The index that numpy takes for begin, end, stride and masks."""
    index = []
    for i in range(rank):
        stride = request.get("stride", [1] * rank)[i]
        begin = None if request.get("begin_mask", [0] * rank)[i] else request["begin"][i]
        end = None if request.get("end_mask", [0] * rank)[i] else request["end"][i]
        if request.get("squeeze_mask", [0] * rank)[i]:
            index.append(begin or 0)
        else:
            index.append(slice(begin, end, stride))
    return tuple(index)


def slice_inputs(request, make=ints):
    out = {}
    for name, values in request.items():
        out[name] = boolean(np.array(values, dtype=bool)) if name.endswith("mask") else make(values)
    return out


SLICES = (
    ((4, 5), dict(begin=[1, 2], end=[3, 5])),
    ((4, 5), dict(begin=[0, -2], end=[-1, 5])),
    ((4, 5), dict(begin=[-100, 0], end=[100, 3])),
    ((4, 5), dict(begin=[3, 4], end=[1, 4])),
    ((4, 5), dict(begin=[0, 0], end=[4, 5], stride=[2, 3])),
    ((4, 5), dict(begin=[3, 4], end=[0, 0], stride=[-1, -2])),
    ((4, 5), dict(begin=[3, 4], end=[0, 0], stride=[-1, -2], end_mask=[True, True])),
    ((4, 5), dict(begin=[9, 9], end=[0, -9], stride=[-1, -2], begin_mask=[True, False])),
    ((4, 5), dict(begin=[0, 0], end=[4, 5], stride=[2147483647, -2147483648])),
    ((4, 5), dict(begin=[0, 4], end=[4, 0], stride=[2147483647, -2147483648])),
    ((4, 5), dict(begin=[7, 1], end=[0, 0], begin_mask=[True, False], end_mask=[True, True])),
    ((4, 5), dict(begin=[2, 1], end=[0, 3], squeeze_mask=[True, False])),
    ((4, 5), dict(begin=[-1, -5], end=[0, 0], squeeze_mask=[True, True])),
    ((4, 5), dict(begin=[3, 1], end=[0, 3], begin_mask=[True, False], squeeze_mask=[True, False])),
    ((2, 3, 4, 5), dict(begin=[0, 1, 0, 2], end=[2, 3, 4, 4])),
    ((2, 3, 4, 5), dict(begin=[1, 0, 3, 0], end=[2, 3, 4, 5])),
    ((6,), dict(begin=[5], end=[-7], stride=[-2])),
)


def write_slices():
    cases = Cases("slice_by_index")
    moves(cases, lambda x: x[1:3, ::2], (4, 5), slice_inputs(dict(begin=[1, 0], end=[3, 5], stride=[1, 2])), "slices")
    for n, (shape, request) in enumerate(SLICES):
        x = sample("fp32", shape)
        with_scalar = x.array[python_slice(request, len(shape))]
        cases.add(f"follows Python {n}, {request}", {"x": x, **slice_inputs(request)}, [fp32(with_scalar)])
    x = sample("fp16", (3, 4))
    cases.add("takes int8 positions from iOS17 on",
              {"x": x, **slice_inputs(dict(begin=[1, 0], end=[2, 3]), lambda v: tensor("int8", v))}, [fp16(x.array[1:2, 0:3])])
    for dtype in ("int8", "int16"):
        cases.add(f"takes {dtype} strides from iOS17 on",
                  {"x": x, **slice_inputs(dict(begin=[0, 3], end=[3, 0], stride=[2, -1]), lambda v: tensor(dtype, v))}, [fp16(x.array[0:3:2, 3:0:-1])])
    cases.add("works for iOS15", {"x": x, **slice_inputs(dict(begin=[1, 0], end=[2, 3]))}, [fp16(x.array[1:2, 0:3])], opset="ios15")
    cases.add("takes no elements", {"x": fp32(np.zeros((0, 3))), **slice_inputs(dict(begin=[0, 1], end=[5, 2], stride=[-1, 1]))},
              [fp32(np.zeros((0, 1)))])
    cases.add("takes a scalar", {"x": fp32(2), "begin": ints([]), "end": ints([])}, [fp32(2)])
    good = slice_inputs(dict(begin=[1, 0], end=[2, 3]))
    before_17(cases, good, "slice_by_index_c1")
    cases.fail("refuses int16 positions before iOS17 (c1)",
               {"x": x, **slice_inputs(dict(begin=[1, 0], end=[2, 3]), lambda v: tensor("int16", v))}, "slice_by_index_c1", opset="ios16")
    cases.fail("refuses a begin of another length (c2)", {"x": x, "begin": ints([1]), "end": ints([2, 3])}, "slice_by_index_c2")
    cases.fail("refuses a mask of another length (c2)", {"x": x, **good, "end_mask": boolean([True] * 3)}, "slice_by_index_c2")
    cases.fail("refuses a stride of 0 (c3)", {"x": x, **good, "stride": ints([1, 0])}, "slice_by_index_c3")
    cases.fail("refuses to squeeze an element that is not there (c3)", {"x": x, **good, "begin": ints([3, 0]), "squeeze_mask": boolean([True, False])},
               "slice_by_index_c3")
    cases.fail("refuses to squeeze an empty axis (c3)",
               {"x": fp32(np.zeros((0, 2))), **good, "begin": ints([0, 0]), "squeeze_mask": boolean([True, False])}, "slice_by_index_c3")
    cases.fail("refuses begin and end of two dtypes", {"x": x, "begin": tensor("int8", [1, 0]), "end": ints([2, 3])}, "parameter")
    cases.write()

    cases = Cases("slice_update")
    for dtype in DTYPES:
        x = sample(dtype, (4, 5))
        want = x.array.copy()
        update = sample(dtype, (2, 3))
        want[1:3, ::2] = update.array
        cases.add(f"replaces in {dtype}", {"x": x, "update": update, **slice_inputs(dict(begin=[1, 0], end=[3, 5], stride=[1, 2]))},
                  [tensor(dtype, want)])
    for n, (shape, request) in enumerate(SLICES):
        x = sample("fp32", shape)
        index = python_slice(request, len(shape))
        if np.ndim(x.array[index]) == 0:
            continue
        update = fp32(-1.0 - np.arange(x.array[index].size).reshape(x.array[index].shape))
        want = x.array.copy()
        want[index] = update.array
        cases.add(f"follows Python {n}, {request}", {"x": x, "update": update, **slice_inputs(request)}, [fp32(want)])
    x, update = fp32(np.arange(20).reshape(4, 5)), fp32([[-1, -2]])
    want = x.array.copy()
    want[1:2, 4:0:-2] = update.array
    for dtype in ("int8", "int16"):
        cases.add(f"takes {dtype} positions", {"x": x, "update": update, **slice_inputs(dict(begin=[1, 4], end=[2, 0], stride=[1, -2]), lambda v: tensor(dtype, v))},
                  [fp32(want)])
    cache = fp16(np.zeros((1, 2, 6, 4)))
    new = sample("fp16", (1, 2, 2, 4))
    want = cache.array.copy()
    want[:, :, 3:5] = new.array
    request = dict(begin=[0, 0, 3, 0], end=[0, 0, 5, 0], begin_mask=[1, 1, 0, 1], end_mask=[1, 1, 0, 1])
    cases.add("writes new keys into a cache", {"x": cache, "update": new, **slice_inputs(request)}, [fp16(want)])
    x, good = sample("fp32", (3, 4)), slice_inputs(dict(begin=[1, 0], end=[2, 3]))
    cases.fail("refuses a scalar update (c1)", {"x": x, "update": fp32(1), **good}, "slice_update_c1")
    cases.fail("refuses an end of another length (c2)", {"x": x, "update": fp32([[1]]), "begin": ints([0, 0]), "end": ints([1])}, "slice_update_c2")
    cases.fail("refuses a stride of 0 (c3)", {"x": x, "update": fp32([[1]]), **good, "stride": ints([0, 1])}, "slice_update_c3")
    for shape in ((1, 2), (3,), (2, 3)):
        cases.fail(f"refuses an update of {list(shape)} for a slice of 1 x 3 (c4)", {"x": x, "update": sample("fp32", shape), **good}, "slice_update_c4")
    cases.fail("refuses an update of another dtype", {"x": x, "update": fp16([[1, 2, 3]]), **good}, "parameter")
    cases.fail("is not known before iOS18", {"x": x, "update": fp32([[1, 2, 3]]), **good}, "ios18", opset="ios17")
    cases.write()

    cases = Cases("slice_by_size")
    moves(cases, lambda x: x[1:3, 2:], (4, 5), {"begin": ints([1, 2]), "size": ints([2, -1])}, "slices")
    x = sample("fp32", (4, 5))
    for begin, size in (([0, 0], [4, 5]), ([3, 4], [1, 1]), ([4, 0], [0, 2]), ([4, 5], [-1, -1]), ([-2, -1], [2, 1])):
        b = [v + d if v < 0 else v for v, d in zip(begin, (4, 5))]
        e = [d if s == -1 else v + s for v, s, d in zip(b, size, (4, 5))]
        cases.add(f"takes {size} from {begin}", {"x": x, "begin": ints(begin), "size": ints(size)}, [fp32(x.array[b[0]:e[0], b[1]:e[1]])])
    for dtype in ("int8", "int16"):
        cases.add(f"takes {dtype} positions from iOS17 on", {"x": x, "begin": tensor(dtype, [1, 2]), "size": tensor(dtype, [2, -1])}, [fp32(x.array[1:3, 2:])])
    cases.add("takes a scalar", {"x": fp32(2), "begin": ints([]), "size": ints([])}, [fp32(2)])
    good = {"begin": ints([1, 2]), "size": ints([2, 1])}
    before_17(cases, good, "slice_by_size_c1")
    cases.fail("refuses another length (c2)", {"x": x, "begin": ints([1]), "size": ints([2, 1])}, "slice_by_size_c2")
    cases.fail("refuses a size of -2 (c3)", {"x": x, "begin": ints([1, 2]), "size": ints([2, -2])}, "slice_by_size_c3")
    for begin, size in (([5, 0], [0, 0]), ([-5, 0], [1, 1]), ([2, 0], [3, 1]), ([2, 0], [2147483647, 1])):
        cases.fail(f"refuses {size} from {begin} (c4)", {"x": x, "begin": ints(begin), "size": ints(size)}, "slice_by_size_c4")
    cases.write()


write_slices()

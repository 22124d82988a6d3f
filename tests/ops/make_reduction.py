# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the reductions, sorts and sums along axes. numpy is the oracle; see cases.py."""

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

RANDOM = np.random.default_rng(11)
INF, NAN = np.inf, np.nan


def f64(array):
    return np.asarray(array, dtype=np.float64)


def wrapped(value):
    """An exact integer as int32 arithmetic leaves it."""
    return np.asarray(value).astype(np.int64).astype(np.uint64).astype(np.uint32).astype(np.int32)


def log_sum_exp(x, axis, keepdims):
    top = np.max(x, axis=axis, keepdims=True, initial=-INF)
    shift = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return out if keepdims else np.squeeze(out, axis=axis)


REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
    "reduce_sum_square": lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims),
    "reduce_l1_norm": lambda x, axis, keepdims: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
    "reduce_l2_norm": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims)),
    "reduce_log_sum": lambda x, axis, keepdims: np.log(np.sum(x, axis=axis, keepdims=keepdims)),
    "reduce_log_sum_exp": log_sum_exp,
}
EMPTY = {"reduce_sum": 0, "reduce_prod": 1, "reduce_max": -INF, "reduce_min": INF, "reduce_sum_square": 0,
         "reduce_l1_norm": 0, "reduce_l2_norm": 0, "reduce_log_sum": -INF, "reduce_log_sum_exp": -INF,
         "reduce_mean": NAN}


def write_reductions():
    for op, f in REDUCTIONS.items():
        cases = Cases(op)
        low = 0.25 if op == "reduce_log_sum" else -2.0
        for make, name in ((fp32, "fp32"), (fp16, "fp16")):
            x = make(RANDOM.uniform(low, 2.0, (2, 3, 4)))
            for axes in ([0], [1], [2], [-1], [0, 2], [-1, -2], [2, 0, 1], []):
                for keep in (False, True):
                    want = f(f64(x), axis=tuple(a % 3 for a in axes), keepdims=keep) if axes else \
                        f(f64(x)[..., None], axis=(3,), keepdims=False)
                    cases.add(f"reduces {name} over {axes}{' and keeps the dimensions' if keep else ''}",
                              {"x": x, "axes": int32(np.array(axes, dtype=int)), "keep_dims": boolean(keep)}, [make(want)])
            cases.add(f"reduces all axes of {name} without axes", {"x": x}, [make(f(f64(x), axis=(0, 1, 2), keepdims=False))])
            cases.add(f"drops the dimensions of {name} by default", {"x": x, "axes": int32([1])},
                      [make(f(f64(x), axis=(1,), keepdims=False))])
        # The layouts of language models: channels in the middle with many columns, long contiguous rows.
        for shape, axis in (((1, 19, 1, 70), 1), ((3, 133), 1), ((1, 64, 1, 1), 1), ((2, 5, 3, 7), 2)):
            scale = 0.9 if op == "reduce_prod" else 1.0
            x = fp32(RANDOM.uniform(max(low, -1.2) if op != "reduce_prod" else 0.8, 1.2 * scale, shape))
            cases.add(f"reduces axis {axis} of {list(shape)}",
                      {"x": x, "axes": int32([axis]), "keep_dims": boolean(True)},
                      [fp32(f(f64(x), axis=(axis,), keepdims=True))], tolerance={"abs": 1e-5, "rel": 2e-5})
        cases.add("takes a scalar", {"x": fp32(1.5)}, [fp32(f(f64([1.5]), axis=(0,), keepdims=False))])
        cases.add("reduces nothing to the neutral element", {"x": fp32(np.zeros((2, 0))), "axes": int32([1])},
                  [fp32([EMPTY[op]] * 2)])
        cases.add("reduces to nothing", {"x": fp16(np.zeros((0, 3))), "axes": int32([1])}, [fp16(np.zeros((0,)))])
        x = int32(RANDOM.integers(1, 6, (3, 4)))
        exact = f(f64(x), axis=(0,), keepdims=False)
        cases.add("reduces int32, cut toward zero", {"x": x, "axes": int32([0])}, [int32(np.trunc(exact))])
        cases.fail("refuses a scalar as axes (c1)", {"x": fp32([1, 2]), "axes": int32(0)}, f"{op}_c1")
        cases.fail("refuses a vector as keep_dims (c1)", {"x": fp32([1, 2]), "keep_dims": boolean([True, False])}, f"{op}_c1")
        cases.fail("refuses too many elements (c1)",
                   {"x": type_only("fp32", [1 << 30, 1 << 30, 2]), "axes": int32([2])}, f"{op}_c1")
        cases.fail("refuses an axis outside (c2)", {"x": fp32([1, 2]), "axes": int32([1])}, f"{op}_c2")
        cases.fail("refuses an axis far outside (c2)", {"x": fp32([1, 2]), "axes": int32([-2147483648])}, f"{op}_c2")
        cases.fail("refuses an axis twice (c2)", {"x": fp32([[1, 2]]), "axes": int32([1, -1])}, f"{op}_c2")
        cases.fail("refuses bools", {"x": boolean([True])}, "cannot be")
        if op in ("reduce_sum", "reduce_prod", "reduce_sum_square"):
            big = int32([2147483647, 2147483647, 3])
            wide = big.array.astype(object)
            exact = {"reduce_sum": sum(wide), "reduce_prod": wide[0] * wide[1] * wide[2],
                     "reduce_sum_square": sum(wide * wide)}[op]
            cases.add("wraps int32 around", {"x": big}, [int32((int(exact) + (1 << 31)) % (1 << 32) - (1 << 31))])
        if op in ("reduce_max", "reduce_min"):
            x = fp32([[1, NAN, 2], [-INF, 3, INF]])
            cases.add("lets NaN win", {"x": x, "axes": int32([1])}, [fp32(f(x.array, axis=1))])
        if op == "reduce_log_sum_exp":
            x = fp32([[1000, 1000, -1000], [-INF, -INF, -INF], [INF, 0, 1], [-INF, 2, -INF]])
            cases.add("neither overflows nor turns infinities into NaN", {"x": x, "axes": int32([1])},
                      [fp32([1000 + np.log(2), -INF, INF, 2])])
        if op == "reduce_sum":
            x = fp16(np.full(4096, 0.1))
            cases.add("sums fp16 in fp32", {"x": x}, [fp16(f64(x).sum())])
        cases.write()


def write_positions():
    for op, f in (("reduce_argmax", np.argmax), ("reduce_argmin", np.argmin)):
        cases = Cases(op)
        for make, name in ((fp32, "fp32"), (fp16, "fp16"), (int32, "int32")):
            x = make(RANDOM.integers(0, 5, (2, 3, 4)))  # ties occur
            for axis in (0, 1, 2, -1, -3):
                for keep in (False, True):
                    cases.add(f"finds the first in {name}, axis {axis}, keep_dims {keep}",
                              {"x": x, "axis": int32(axis), "keep_dims": boolean(keep)},
                              [int32(f(x.array, axis=axis, keepdims=keep))])
        x = fp32([[1, 5, 2], [7, 7, 0]])
        cases.add("takes the last axis by default", {"x": x}, [int32(f(x.array, axis=-1))])
        cases.add("gives uint16 from iOS17 on", {"x": x, "output_dtype": text("uint16")},
                  [tensor("uint16", f(x.array, axis=-1))])
        cases.add("works for iOS15", {"x": x, "axis": int32(0)}, [int32(f(x.array, axis=0))], opset="ios15")
        x = fp32([[1, NAN, NAN], [-INF, INF, 0]])
        cases.add("lets NaN win", {"x": x}, [int32(f(x.array, axis=-1))])
        cases.fail("refuses a vector as keep_dims (c1)", {"x": x, "keep_dims": boolean([True, True])}, f"{op}_c1")
        cases.fail("refuses an axis outside (c2)", {"x": x, "axis": int32(2)}, f"{op}_c2")
        cases.fail("refuses a scalar (c2)", {"x": fp32(1)}, f"{op}_c2")
        cases.fail("refuses a vector of axes (c2)", {"x": x, "axis": int32([0, 1])}, f"{op}_c2")
        cases.fail("refuses another output dtype (c3)", {"x": x, "output_dtype": text("int8")}, f"{op}_c3")
        cases.fail("refuses no elements (c4)", {"x": fp32(np.zeros((2, 0)))}, f"{op}_c4")
        cases.fail("refuses output_dtype before iOS17", {"x": x, "output_dtype": text("int32")}, "output_dtype", opset="ios16")
        cases.write()


def top(x, k, axis, ascending):
    """numpy's stable sort breaks ties by position; of the negated keys it does so downwards, too."""
    keys = x.astype(np.float64) if ascending else -x.astype(np.float64)
    order = np.argsort(keys, axis=axis, kind="stable")
    order = np.take(order, np.arange(k), axis=axis)
    return np.take_along_axis(x, order, axis=axis), order


def write_topk():
    cases = Cases("topk")
    for dtype in ("fp32", "fp16", "int32", "int8", "uint8", "int16", "uint16"):
        x = tensor(dtype, RANDOM.integers(0, 6, (2, 5, 3)))
        for k, axis, ascending in ((1, -1, False), (2, 1, False), (5, 1, True), (2, 0, True), (-1, 1, False)):
            values, order = top(x.array, x.array.shape[axis] if k == -1 else k, axis, ascending)
            cases.add(f"finds {k} of {dtype} along {axis}, ascending {ascending}",
                      {"x": x, "k": int32(k), "axis": int32(axis), "ascending": boolean(ascending)},
                      [tensor(dtype, values), int32(order)])
    x = fp16([[3, 1, 2], [5, 9, 7]])
    values, order = top(x.array, 1, -1, False)
    cases.add("finds the largest by default", {"x": x}, [fp16(values), int32(order)])
    cases.add("works for iOS15", {"x": x}, [fp16(values), int32(order)], opset="ios15")
    cases.add("works for iOS16", {"x": x, "sort": boolean(True)}, [fp16(values), int32(order)], opset="ios16")
    cases.add("leaves the indices out when asked", {"x": x, "return_indices": boolean(False)}, [fp16(values)])
    cases.add("gives uint16 indices", {"x": x, "output_indices_dtype": text("uint16")},
              [fp16(values), tensor("uint16", order)])
    values, order = top(x.array, 1, -1, False)
    cases.add("takes k as int8", {"x": x, "k": tensor("int8", 1)}, [fp16(values), int32(order)])
    cases.add("takes k as int16", {"x": x, "k": tensor("int16", 1)}, [fp16(values), int32(order)])
    cases.add("takes infinities and NaN as the largest", {"x": fp32([1, NAN, -INF, INF, 2]), "k": int32(3)},
              [fp32([NAN, INF, 2]), int32([1, 3, 4])])
    cases.fail("refuses int8 before iOS17 (c1)", {"x": tensor("int8", [1, 2])}, "topk_c1", opset="ios16")
    cases.fail("refuses an int8 k before iOS17 (c1)", {"x": x, "k": tensor("int8", 1)}, "topk_c1", opset="ios16")
    cases.fail("refuses a vector as k (c2)", {"x": x, "k": int32([1, 2])}, "topk_c2")
    cases.fail("refuses an axis outside (c3)", {"x": x, "axis": int32(2)}, "topk_c3")
    for k in (0, -2, 4):
        cases.fail(f"refuses k = {k} of 3 (c4)", {"x": x, "k": int32(k)}, "topk_c4")
    cases.fail("refuses indices of another dtype (c5)", {"x": x, "output_indices_dtype": text("int16")}, "topk_c5")
    cases.fail("refuses sort before iOS16", {"x": x, "sort": boolean(True)}, "sort", opset="ios15")
    cases.write()

    cases = Cases("argsort")
    for make, name in ((fp32, "fp32"), (fp16, "fp16"), (int32, "int32")):
        x = make(RANDOM.integers(0, 4, (2, 5, 3)))
        for axis in (0, 1, -1):
            for ascending in (False, True):
                cases.add(f"sorts {name} along {axis}, ascending {ascending}",
                          {"x": x, "axis": int32(axis), "ascending": boolean(ascending)},
                          [int32(top(x.array, x.array.shape[axis], axis, ascending)[1])])
    x = fp32([[2, 0, 1]])
    cases.add("sorts the last axis downwards by default", {"x": x}, [int32([[0, 2, 1]])])
    cases.add("takes no elements", {"x": fp32(np.zeros((2, 0)))}, [int32(np.zeros((2, 0)))])
    cases.add("puts NaN above all", {"x": fp32([1, NAN, INF, -INF]), "ascending": boolean(True)}, [int32([3, 0, 2, 1])])
    cases.fail("refuses a vector as ascending (c1)", {"x": x, "ascending": boolean([True, True])}, "argsort_c1")
    cases.fail("refuses too many elements (c1)", {"x": type_only("fp32", [1 << 30, 1 << 30])}, "argsort_c1")
    cases.fail("refuses an axis outside (c2)", {"x": x, "axis": int32(-3)}, "argsort_c2")
    cases.write()


def write_cumsum():
    def cumsum(x, axis, exclusive, reverse):
        x = np.flip(x, axis) if reverse else x
        out = np.cumsum(x, axis=axis) - (x if exclusive else 0)
        return np.flip(out, axis) if reverse else out

    cases = Cases("cumsum")
    for make, name in ((fp32, "fp32"), (fp16, "fp16"), (int32, "int32")):
        x = make(RANDOM.integers(-8, 8, (2, 4, 3)) / (1 if make is int32 else 4))
        for axis in (0, 1, 2, -1):
            for exclusive in (False, True):
                for reverse in (False, True):
                    cases.add(f"sums {name} along {axis}, exclusive {exclusive}, reverse {reverse}",
                              {"x": x, "axis": int32(axis), "exclusive": boolean(exclusive), "reverse": boolean(reverse)},
                              [make(cumsum(f64(x), axis, exclusive, reverse))])
    x = fp32([[1, 2], [3, 4]])
    cases.add("sums the first axis by default", {"x": x}, [fp32([[1, 2], [4, 6]])])
    cases.add("takes no elements", {"x": fp32(np.zeros((0, 2)))}, [fp32(np.zeros((0, 2)))])
    ones = fp16(np.full(3000, 1.0))
    cases.add("sums fp16 in fp32", {"x": ones}, [fp16(np.cumsum(f64(ones)))])
    cases.add("wraps int32 around", {"x": int32([2147483647, 1, 1])}, [int32(wrapped([2147483647, 2147483648, 2147483649]))])
    cases.fail("refuses a vector as reverse (c1)", {"x": x, "reverse": boolean([True, False])}, "cumsum_c1")
    cases.fail("refuses an axis outside (c2)", {"x": x, "axis": int32(2)}, "cumsum_c2")
    cases.fail("refuses a scalar (c2)", {"x": fp32(1)}, "cumsum_c2")
    cases.write()


def write_one_hot():
    cases = Cases("one_hot")

    def one_hot(indices, size, axis, on, off):
        indices = np.asarray(indices)
        hot = np.expand_dims(indices, axis) == np.arange(size).reshape([-1 if d == axis % (indices.ndim + 1) else 1
                                                                       for d in range(indices.ndim + 1)])
        return np.where(hot, on, off)

    indices = int32([[0, 2, 3], [1, -1, 7]])  # two of them outside of the range
    for dtype, on, off in (("fp32", 2.5, -1.0), ("fp16", 1, 0), ("int32", 5, -5), ("bool", True, False)):
        for axis in (0, 1, 2, -1, -3):
            cases.add(f"sets {dtype} along {axis}",
                      {"indices": indices, "one_hot_vector_size": int32(4), "axis": int32(axis),
                       "on_value": tensor(dtype, on), "off_value": tensor(dtype, off)},
                      [tensor(dtype, one_hot(indices.array, 4, axis, on, off))])
    size = int32(3)
    cases.add("gives int32 ones in the last axis by default", {"indices": indices, "one_hot_vector_size": size},
              [int32(one_hot(indices.array, 3, -1, 1, 0))])
    cases.add("takes the dtype of the one value that is written",
              {"indices": indices, "one_hot_vector_size": size, "off_value": fp16(-2)},
              [fp16(one_hot(indices.array, 3, -1, 1, -2))])
    cases.add("takes a scalar index", {"indices": int32(1), "one_hot_vector_size": size}, [int32([0, 1, 0])])
    cases.add("takes a size of 0", {"indices": int32([1]), "one_hot_vector_size": int32(0)}, [int32(np.zeros((1, 0)))])
    cases.fail("refuses a vector as size (c1)", {"indices": indices, "one_hot_vector_size": int32([1, 2])}, "one_hot_c1")
    cases.fail("refuses an axis outside (c2)", {"indices": indices, "one_hot_vector_size": size, "axis": int32(3)},
               "one_hot_c2")
    cases.fail("refuses a negative size (c3)", {"indices": indices, "one_hot_vector_size": int32(-1)}, "one_hot_c3")
    cases.fail("refuses too many elements (c4)",
               {"indices": type_only("int32", [1 << 20, 1]), "one_hot_vector_size": int32(2147483647)}, "one_hot_c4")
    cases.fail("refuses two dtypes", {"indices": indices, "one_hot_vector_size": size, "on_value": fp16(1),
                                      "off_value": fp32(0)}, "parameter")
    cases.write()


write_reductions()
write_positions()
write_topk()
write_cumsum()
write_one_hot()

# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the elementwise operations. numpy is the oracle; see cases.py."""

import math

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32, tensor, text, type_only

RANDOM = np.random.default_rng(7)
ERF = np.vectorize(math.erf, otypes=[np.float64])
INF, NAN = np.inf, np.nan
BIG = type_only("fp32", [1 << 30, 1])
BIG_ACROSS = type_only("fp32", [1, 1 << 30])


def f64(array):
    return np.asarray(array, dtype=np.float64)


def values(count, low=-4.0, high=4.0):
    return RANDOM.uniform(low, high, count)


def unary_float(op, f, low=-4.0, high=4.0, special=(), extra=None):
    """f: float64 -> float64. `special`: values that fp32 must get right, infinities for example."""
    cases = Cases(op)
    extra = extra or {}
    for make, name in ((fp32, "fp32"), (fp16, "fp16")):
        x = make(values(24, low, high).reshape(2, 3, 4))
        cases.add(f"computes {name}", {"x": x, **extra}, [make(f(f64(x)))])
    x = fp32(values(()  , low, high))
    cases.add("takes a scalar", {"x": x, **extra}, [fp32(f(f64(x)))])
    cases.add("takes no elements", {"x": fp16(np.zeros((2, 0, 3))), **extra}, [fp16(np.zeros((2, 0, 3)))])
    if len(special):
        x = fp32(list(special))
        with np.errstate(all="ignore"):
            cases.add("gets the special values right", {"x": x, **extra}, [fp32(f(f64(x)))])
    cases.fail("refuses integers", {"x": tensor("int8", [1, 2]), **extra}, "cannot be")
    return cases


def unary_numeric(op, f, f_int):
    cases = unary_float(op, f, special=(INF, -INF, NAN, 0.0, -0.0))
    cases.cases.pop()
    x = int32([-7, -1, 0, 1, 5, 2147483647, -2147483647])
    cases.add("computes int32 and wraps around", {"x": x}, [int32(f_int(x.array.astype(np.int64)))])
    cases.fail("refuses bools", {"x": boolean([True])}, "cannot be")
    return cases


def write_unary():
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    silu = lambda x: x * sigmoid(x)
    softplus = lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    relu = lambda x: np.where(x < 0, 0, x)
    wild = (INF, -INF, NAN, 0.0)
    for op, f, low, high, special in (
        ("sqrt", np.sqrt, 0, 9, (0.0, INF, NAN, -1.0)),
        ("exp", np.exp, -9, 9, (INF, -INF, NAN, 0.0, -200.0, 200.0)),
        ("sin", np.sin, -9, 9, (0.0, 1000.0)),
        ("cos", np.cos, -9, 9, (0.0, 1000.0)),
        ("tanh", np.tanh, -4, 4, wild + (50.0, -50.0)),
        ("erf", ERF, -3, 3, (INF, -INF, 0.0)),
        ("floor", np.floor, -9, 9, wild + (-0.5, 2.0, 1e9)),
        ("ceil", np.ceil, -9, 9, wild + (-0.5, 2.0, 1e9)),
        ("round", np.rint, -9, 9, wild + (0.5, 1.5, 2.5, -0.5, -1.5)),
        ("sigmoid", sigmoid, -9, 9, wild + (100.0, -100.0)),
        ("silu", silu, -9, 9, (0.0, 80.0, -80.0, INF, NAN)),
        ("relu", relu, -9, 9, wild),
        ("relu6", lambda x: np.clip(x, 0, 6), -9, 9, wild),
        ("softplus", softplus, -9, 9, (0.0, 60000.0, -60000.0, INF, -INF, NAN)),
        ("softsign", lambda x: x / (1 + np.abs(x)), -9, 9, (0.0, 1e30, NAN)),
    ):
        with np.errstate(all="ignore"):
            cases = unary_float(op, f, low, high, special)
            x = fp16(values(9, -12, 12))
            if op in ("exp", "softplus", "silu", "sigmoid"):
                cases.add("stays finite in fp16 where fp32 is", {"x": x}, [fp16(f(f64(x)))])
            cases.write()
    wrap = lambda f: lambda x: f(x).astype(np.int32)
    unary_numeric("abs", np.abs, wrap(np.abs)).write()
    unary_numeric("sign", np.sign, wrap(np.sign)).write()
    unary_numeric("square", np.square, lambda x: (x * x).astype(np.uint64).astype(np.uint32).astype(np.int32)).write()
    exp2 = unary_float("exp2", np.exp2, -9, 9, (INF, -INF, NAN, 0.0))
    exp2.cases.pop()
    exp2.add("saturates int32", {"x": int32([0, 1, 10, 30, 31, 400, -1, -400])},
             [int32([1, 2, 1024, 1 << 30, 2147483647, 2147483647, 0, 0])])
    exp2.fail("refuses bools", {"x": boolean([True])}, "cannot be")
    exp2.write()

    not_ = Cases("logical_not")
    not_.add("negates", {"x": boolean([[True, False], [False, False]])}, [boolean([[False, True], [True, True]])])
    not_.add("takes a scalar", {"x": boolean(True)}, [boolean(False)])
    not_.fail("refuses integers", {"x": int32([1])}, "cannot be")
    not_.write()

    identity = Cases("identity")
    for dtype in ("fp16", "fp32", "int32", "bool", "uint8", "int16"):
        x = tensor(dtype, [[0, 1, 1], [1, 0, 1]])
        identity.add(f"passes {dtype} on", {"x": x}, [x])
    identity.add("passes a scalar on", {"x": fp32(2.5)}, [fp32(2.5)])
    identity.write()


def with_constants(op, f, constants, any_float, alternatives=()):
    cases = Cases(op)
    for make, name in ((fp32, "fp32"), (fp16, "fp16")):
        x = make(values(12, -5, 5).reshape(3, 4))
        for opset in ("ios15", "ios18"):
            cases.add(f"computes {name} for {opset}", {"x": x, **{k: make(v) for k, v in constants.items()}},
                      [make(f(f64(x), *(float(make(v).array) for v in constants.values())))], opset=opset)
    x = fp32([NAN, 0.0, -0.0, 3.0])
    cases.add("keeps NaN", {"x": x, **{k: fp32(v) for k, v in constants.items()}},
              [fp32(f(f64(x), *(float(fp32(v).array) for v in constants.values())))])
    x = fp16([-2, -0.25, 0.25, 2])
    cases.fail("refuses a vector for a constant (c1)",
               {"x": x, **{k: fp16([v, v]) for k, v in constants.items()}}, f"{op}_c1")
    other = {"x": x, **{k: fp32(v) for k, v in constants.items()}}
    if any_float:
        cases.add("takes fp32 constants for fp16 from iOS17 on", other,
                  [fp16(f(f64(x), *(float(fp32(v).array) for v in constants.values())))])
        cases.fail("refuses constants of another dtype before iOS17 (c2)", other, f"{op}_c2", opset="ios16")
    else:
        cases.fail("refuses constants of another dtype", other, "parameter")
    cases.fail("refuses a missing constant", {"x": x}, "alpha")
    return cases


def write_constants():
    for op, f, default in (
        ("rsqrt", lambda x, e: 1 / np.sqrt(x + e), 1e-12),
        ("log", lambda x, e: np.log(x + e), 1e-45),
        ("inverse", lambda x, e: 1 / (x + e), 1e-4),
    ):
        cases = Cases(op)
        for make, name in ((fp32, "fp32"), (fp16, "fp16")):
            x = make(values(12, 0.1, 9).reshape(3, 4))
            cases.add(f"applies the default epsilon to {name}", {"x": x}, [make(f(f64(x), default))])
            cases.add(f"adds a given epsilon inside for {name}", {"x": x, "epsilon": make(0.5)},
                      [make(f(f64(x), 0.5))])
        x = fp16([0.25, 1, 4])
        cases.add("takes an fp32 epsilon for fp16 from iOS17 on", {"x": x, "epsilon": fp32(0.001)},
                  [fp16(f(f64(x), 0.001))])
        cases.add("takes a scalar", {"x": fp32(2.0)}, [fp32(f(2.0, default))])
        cases.add("takes an epsilon of shape 1", {"x": fp32([2.0]), "epsilon": fp32([0.25])}, [fp32([f(2.0, 0.25)])])
        cases.add("applies the default epsilon before iOS17", {"x": fp32([2.0])}, [fp32([f(2.0, default)])],
                  opset="ios15")
        cases.fail("refuses a vector of epsilons (c1)", {"x": x, "epsilon": fp16([1, 2])}, f"{op}_c1")
        cases.fail("refuses an epsilon of another dtype before iOS17 (c2)", {"x": x, "epsilon": fp32(0.1)},
                   f"{op}_c2", opset="ios16")
        cases.fail("refuses integers", {"x": int32([1])}, "cannot be")
        cases.write()

    with_constants("leaky_relu", lambda x, a: np.where(x < 0, a * x, x), {"alpha": 0.1}, True).write()
    with_constants("elu", lambda x, a: np.where(x > 0, x, a * np.expm1(x)), {"alpha": 0.7}, True).write()
    with_constants("sigmoid_hard", lambda x, a, b: np.minimum(np.maximum(a * x + b, 0), 1),
                   {"alpha": 0.2, "beta": 0.5}, True).write()
    clip = with_constants("clip", lambda x, a, b: np.clip(x, a, b), {"alpha": -1.5, "beta": 2.0}, False)
    x = fp32([1, 2])
    clip.add("takes equal bounds before iOS17", {"x": x, "alpha": fp32(1.5), "beta": fp32(1.5)}, [fp32([1.5, 1.5])],
             opset="ios16")
    clip.fail("refuses equal bounds from iOS17 on (c2)", {"x": x, "alpha": fp32(1.5), "beta": fp32(1.5)}, "clip_c2")
    clip.fail("refuses bounds in the wrong order (c2)", {"x": x, "alpha": fp32(2), "beta": fp32(1)}, "clip_c2",
              opset="ios15")
    clip.write()
    threshold = with_constants("threshold", lambda x, a: np.maximum(x, a), {"alpha": 0.5}, False)
    threshold.add("computes int32", {"x": int32([-5, 0, 16777217]), "alpha": int32(-2)}, [int32([-2, 0, 16777217])])
    threshold.write()

    gelu = Cases("gelu")
    forms = {
        "EXACT": lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2))),
        "TANH_APPROXIMATION": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "SIGMOID_APPROXIMATION": lambda x: x / (1 + np.exp(-1.702 * x)),
    }
    for make, name in ((fp32, "fp32"), (fp16, "fp16")):
        x = make(values(12, -5, 5).reshape(3, 4))
        for mode, f in forms.items():
            gelu.add(f"computes {name} in mode {mode}", {"x": x, "mode": text(mode)}, [make(f(f64(x)))])
        gelu.add(f"is exact by default for {name}", {"x": x}, [make(forms["EXACT"](f64(x)))])
    gelu.add("takes a scalar", {"x": fp32(-0.5)}, [fp32(forms["EXACT"](-0.5))])
    gelu.fail("refuses an unknown mode (c1)", {"x": fp32(1), "mode": text("FAST")}, "gelu_c1")
    gelu.write()


def binary_cases(op, f, f_int, result=None, low=-4.0, high=4.0):
    """f: float64, float64 -> float64; f_int: int64, int64 -> int64. `result` makes the output from the value."""
    cases = Cases(op)
    shapes = (
        ("equal shapes", (2, 3, 4), (2, 3, 4)), ("a row on every row", (2, 3, 4), (4,)),
        ("a column on every column", (2, 3, 4), (3, 1)), ("both sides", (2, 1, 4), (3, 1)),
        ("a scalar on the right", (2, 3), ()), ("a scalar on the left", (), (2, 3)), ("two scalars", (), ()),
        ("a middle axis", (2, 3, 4), (2, 1, 4)), ("no elements", (2, 0, 3), (1, 3)),
    )
    with np.errstate(all="ignore"):
        for make, name in ((fp32, "fp32"), (fp16, "fp16")):
            out = result or make
            for what, x_shape, y_shape in shapes:
                x, y = make(values(x_shape, low, high)), make(values(y_shape, low, high))
                cases.add(f"computes {name}, {what}", {"x": x, "y": y}, [out(f(f64(x), f64(y)))])
        out = result or int32
        x = int32(RANDOM.integers(-20, 20, (2, 3)))
        y = int32(RANDOM.integers(1, 9, (3,)))
        cases.add("computes int32", {"x": x, "y": y}, [out(f_int(x.array.astype(np.int64), y.array.astype(np.int64)))])
    x = fp32(np.ones((2, 3)))
    cases.fail("refuses shapes that do not broadcast (c1)", {"x": x, "y": fp32([1, 2])}, f"{op}_c1")
    cases.fail("refuses a result of too many elements (c1)", {"x": BIG, "y": BIG_ACROSS}, f"{op}_c1")
    cases.fail("refuses two dtypes", {"x": x, "y": fp16([1, 2, 3])}, "parameter")
    cases.fail("refuses bools", {"x": boolean([True]), "y": boolean([True])}, "cannot be")
    cases.fail("refuses a missing operand", {"x": x}, "y")
    return cases


def special_pairs(cases, f, make_out, numbers=(INF, -INF, NAN, 0.0, -0.0, 1.5, -2.0)):
    x = fp32(np.repeat(numbers, len(numbers)))
    y = fp32(np.tile(numbers, len(numbers)))
    with np.errstate(all="ignore"):
        cases.add("gets the special values right", {"x": x, "y": y}, [make_out(f(x.array, y.array))])


def write_binary():
    wrap32 = lambda v: np.asarray(v).astype(np.int64).astype(np.uint64).astype(np.uint32).astype(np.int32)
    low, high = -2147483648, 2147483647
    for op, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("maximum", np.maximum),
                  ("minimum", np.minimum)):
        cases = binary_cases(op, f, f)
        special_pairs(cases, f, fp32)
        x, y = int32([high, low, high, low]), int32([1, -1, high, high])
        cases.add("wraps int32 around", {"x": x, "y": y},
                  [int32(wrap32(f(x.array.astype(np.int64), y.array.astype(np.int64))))])
        x, y = fp16([60000, -60000, 1.0]), fp16([60000, 60000, 0.00048828125])
        cases.add("rounds fp16 once", {"x": x, "y": y}, [fp16(f(f64(x), f64(y)))])
        if op == "add":
            n = 17000  # more than one thread's share
            x = np.arange(n) % 97
            cases.add("covers long tensors", {"x": int32(x), "y": int32(3)}, [int32(x + 3)])
        cases.write()

    cases = binary_cases("real_div", np.divide, lambda a, b: np.trunc(a / b).astype(np.int64), low=0.5)
    special_pairs(cases, np.divide, fp32)
    cases.add("gives 0 for an int32 divided by 0", {"x": int32([7, -7, 0, low]), "y": int32([0, 0, 0, -1])},
              [int32([0, 0, 0, low])])
    cases.write()

    for op, f in (("floor_div", np.floor_divide), ("mod", np.mod)):
        # fp16 quotients of fp16 operands are exact questions: ask them in fp64 of the same values.
        cases = binary_cases(op, f, f, low=0.25)
        special_pairs(cases, f, fp32)
        x, y = fp32([7, -7, 7, -7, 6, -6, 0.5, -0.5]), fp32([2, 2, -2, -2, -3, 3, -0.25, 0.25])
        cases.add("has the sign of the divisor", {"x": x, "y": y}, [fp32(f(x.array, y.array))])
        x, y = int32([7, -7, 7, -7, 6, -6, 5, low, low]), int32([2, 2, -2, -2, -3, 3, 0, -1, high])
        with np.errstate(all="ignore"):
            cases.add("has the sign of the int32 divisor, 0 for a 0", {"x": x, "y": y}, [int32(f(x.array, y.array))])
        cases.write()

    cases = binary_cases("pow", np.power, np.power, low=0.25)
    special_pairs(cases, np.power, fp32)
    cases.add("is NaN for a negative base and a fraction", {"x": fp32([-8, -8, -8]), "y": fp32([1 / 3, 2, 3])},
              [fp32([NAN, 64, -512])])
    cases.add("keeps int32 integers", {"x": int32([2, -2, 3, 1, -1, -1, 5, 0, 2, 0]),
                                       "y": int32([10, 3, 0, -4, -3, -4, -1, 0, 32, -1])},
              [int32([1024, -8, 1, 1, -1, 1, 0, 1, 0, 0])])
    cases.write()

    for op, f in (("equal", np.equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
                  ("greater", np.greater), ("greater_equal", np.greater_equal)):
        # Few distinct values, so that equal pairs occur.
        cases = binary_cases(op, f, f, result=boolean)
        for make, name in ((fp16, "fp16"), (fp32, "fp32"), (int32, "int32")):
            x, y = make(RANDOM.integers(0, 3, (4, 5))), make(RANDOM.integers(0, 3, (5,)))
            cases.add(f"compares {name} with ties", {"x": x, "y": y}, [boolean(f(x.array, y.array))])
        special_pairs(cases, f, boolean)
        cases.add("compares large int32 exactly", {"x": int32([16777217, 16777216]), "y": int32([16777216, 16777217])},
                  [boolean(f(np.int64([16777217, 16777216]), np.int64([16777216, 16777217])))])
        cases.write()

    for op, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)):
        cases = Cases(op)
        x, y = boolean([[True, False], [True, False]]), boolean([[True, True], [False, False]])
        cases.add("combines equal shapes", {"x": x, "y": y}, [boolean(f(x.array, y.array))])
        for row in ([True], [False], [True, False]):
            cases.add(f"broadcasts {row}", {"x": x, "y": boolean(row)}, [boolean(f(x.array, row))])
        cases.add("takes scalars", {"x": boolean(True), "y": boolean(False)}, [boolean(f(True, False))])
        cases.fail("refuses shapes that do not broadcast (c1)", {"x": x, "y": boolean([True] * 3)}, f"{op}_c1")
        cases.fail("refuses integers", {"x": int32([1]), "y": int32([1])}, "cannot be")
        cases.write()


def write_cast():
    cases = Cases("cast")
    limits = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535),
              "int32": (-2147483648, 2147483647)}

    def convert(array, to):
        array = np.asarray(array)
        if to in ("fp16", "fp32"):
            return tensor(to, array.astype(np.float64))
        if to == "bool":
            return boolean(array != 0)
        low, high = limits[to]
        return tensor(to, np.clip(np.trunc(np.nan_to_num(array.astype(np.float64), nan=0.0)), low, high))

    sources = {
        "fp16": [0.0, -0.0, 0.5, -0.5, 1.5, -1.9, 300.7, -300.7, 65504.0, -65504.0, INF, -INF, NAN],
        "fp32": [0.0, 0.99, -0.99, 2.5, 127.6, -128.6, 70000.0, 3e9, -3e9, 1e-30, INF, -INF, NAN],
        "int32": [0, 1, -1, 127, 128, -129, 255, 256, 65536, -32769, 2147483647, -2147483648, 16777217],
        "bool": [True, False], "int8": [-128, -1, 0, 127], "uint8": [0, 1, 255], "int16": [-32768, -1, 0, 32767],
        "uint16": [0, 1, 65535],
    }
    for source, numbers in sources.items():
        x = tensor(source, numbers)
        for to in sources:
            cases.add(f"turns {source} into {to}", {"x": x, "dtype": text(to)}, [convert(x.array, to)])
    cases.add("takes a scalar", {"x": fp32(3.7), "dtype": text("int32")}, [int32(3)])
    cases.add("takes no elements", {"x": fp32(np.zeros((0, 2))), "dtype": text("bool")}, [boolean(np.zeros((0, 2)))])
    cases.add("knows the four dtypes before iOS17", {"x": int32([[0, 2]]), "dtype": text("fp16")}, [fp16([[0, 2]])],
              opset="ios15")
    cases.fail("refuses int8 before iOS17 (c1)", {"x": fp32([1]), "dtype": text("int8")}, "cast_c1", opset="ios16")
    cases.fail("refuses an unknown dtype (c1)", {"x": fp32([1]), "dtype": text("float")}, "cast_c1")
    cases.fail("refuses a string (c1)", {"x": fp32([1]), "dtype": text("string")}, "cast_c1")
    cases.fail("refuses an int8 operand before iOS17 (c2)", {"x": tensor("int8", [1]), "dtype": text("fp32")}, "cast_c2",
               opset="ios16")
    cases.fail("refuses too many elements (c3)", {"x": type_only("fp32", [1 << 30, 1 << 30]), "dtype": text("fp16")},
               "cast_c3")
    cases.write()


def write_select():
    cases = Cases("select")
    shapes = (("equal shapes", (2, 3), (2, 3), (2, 3)), ("a scalar condition", (), (2, 3), (2, 3)),
              ("scalar values", (2, 3), (), ()), ("a mask for every head", (1, 1, 2, 3), (2, 2, 2, 3), ()),
              ("all three sides", (2, 1, 1), (3, 1), (4,)), ("no elements", (0, 3), (3,), ()))
    for dtype in ("fp16", "fp32", "int32", "bool"):
        for what, c, a, b in shapes:
            cond = boolean(RANDOM.integers(0, 2, c))
            xs = [tensor(dtype, RANDOM.integers(0, 2, s) if dtype == "bool" else RANDOM.integers(-9, 9, s))
                  for s in (a, b)]
            cases.add(f"selects {dtype}, {what}", {"cond": cond, "a": xs[0], "b": xs[1]},
                      [tensor(dtype, np.where(cond.array, xs[0].array, xs[1].array))])
    cases.add("passes infinities on", {"cond": boolean([True, False]), "a": fp16(0), "b": fp16(-INF)}, [fp16([0, -INF])])
    cases.fail("refuses shapes that do not broadcast (c1)", {"cond": boolean([True] * 2), "a": fp32([1, 2, 3]), "b": fp32(0)},
               "select_c1")
    cases.fail("refuses a result of too many elements (c1)",
               {"cond": boolean(True), "a": BIG, "b": BIG_ACROSS}, "select_c1")
    cases.fail("refuses two dtypes", {"cond": boolean([True]), "a": fp32([1]), "b": fp16([1])}, "parameter")
    cases.fail("refuses a condition that is not bool", {"cond": int32([1]), "a": fp32([1]), "b": fp32([1])}, "cannot be")
    cases.write()


def write_thresholded_relu():
    cases = with_constants("thresholded_relu", lambda x, a: np.where(x < a, 0, x), {"alpha": 0.5}, True)
    cases.add("keeps what equals the threshold", {"x": fp32([-2, -1, -0.5]), "alpha": fp32(-1)}, [fp32([0, -1, -0.5])])
    cases.write()


if __name__ == "__main__":
    write_unary()
    write_constants()
    write_binary()
    write_cast()
    write_select()
    write_thresholded_relu()

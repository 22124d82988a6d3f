# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the inverse and hyperbolic functions and of the activations with constants that
make_elementwise.py does not have. Run: python3 tests/ops/make_activations.py"""

import numpy as np

from cases import Cases, fp16, fp32
from make_elementwise import INF, NAN, f64, unary_float, values, with_constants


def write_functions():
    wild = (INF, -INF, NAN, 0.0)
    for op, f, low, high, special in (
        ("acos", np.arccos, -1, 1, (1.0, -1.0, 0.0, 1.5, NAN)),
        ("asin", np.arcsin, -1, 1, (1.0, -1.0, 0.0, -1.5, NAN)),
        ("atan", np.arctan, -9, 9, wild),
        ("atanh", np.arctanh, -0.99, 0.99, (1.0, -1.0, 0.0, 2.0, NAN)),
        ("cosh", np.cosh, -5, 5, wild + (100.0,)),
        ("sinh", np.sinh, -5, 5, wild + (-100.0,)),
        ("tan", np.tan, -1.5, 1.5, (0.0, 1000.0, NAN)),
    ):
        with np.errstate(all="ignore"):
            unary_float(op, f, low, high, special).write()


def write_constants():
    both = {"alpha": 0.75, "beta": 1.5}
    with np.errstate(all="ignore"):
        cases = with_constants("clamped_relu", lambda x, a, b: np.minimum(b, np.where(x < 0, a * x, x)), both, True)
        cases.add("clamps what a negative slope makes positive", {"x": fp32([-9, -1]), "alpha": fp32(-2), "beta": fp32(3)},
                  [fp32([3, 2])])
        cases.write()
        with_constants("linear_activation", lambda x, a, b: a * x + b, both, True).write()
        with_constants("scaled_tanh", lambda x, a, b: a * np.tanh(b * x), both, True).write()


def per_channel(op, f, constants):
    """f(x, *constants), each constant one number per channel."""
    cases = Cases(op)
    for make, name in ((fp32, "fp32"), (fp16, "fp16")):
        for shape in ((2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 1, 2)):
            x = make(values(int(np.prod(shape)), -5, 5).reshape(shape))
            given = {k: make(v) for k, v in constants.items()}
            spread = [f64(v).reshape([1, 3] + [1] * (len(shape) - 2)) for v in given.values()]
            cases.add(f"computes {name} of rank {len(shape)}", {"x": x, **given}, [make(f(f64(x), *spread))])
    given = {k: fp32(v) for k, v in constants.items()}
    x = fp16(np.linspace(-20, 20, 6).reshape(1, 3, 2))
    spread = [f64(v).reshape(1, 3, 1) for v in given.values()]
    cases.add("takes fp32 constants for fp16 from iOS17 on", {"x": x, **given}, [fp16(f(f64(x), *spread))], opset="ios17")
    cases.add("keeps NaN", {"x": fp32([[[NAN], [NAN], [0]]]), **given}, [fp32(f(f64([[[NAN], [NAN], [0]]]), *spread))])
    cases.add("takes no elements", {"x": fp32(np.zeros((0, 3, 2))), **given}, [fp32(np.zeros((0, 3, 2)))])
    cases.fail("refuses rank 2 (c1)", {"x": fp32(np.zeros((2, 3))), **given}, f"{op}_c1")
    cases.fail("refuses constants of another length (c2)", {"x": fp32(np.zeros((2, 4, 1))), **given}, f"{op}_c2")
    cases.fail("refuses scalars (c2)", {"x": fp32(np.zeros((2, 3, 1))), **{k: fp32(1) for k in given}}, f"{op}_c2")
    cases.fail("refuses constants of another dtype before iOS17 (c3)", {"x": x, **given}, f"{op}_c3", opset="ios16")
    cases.write()


write_functions()
write_constants()
slopes = np.array([0.25, -0.5, 2.0])
per_channel("prelu", lambda x, a: np.where(x < 0, a * x, x), {"alpha": slopes})
per_channel("softplus_parametric", lambda x, a, b: a * np.logaddexp(0, b * x), {"alpha": slopes, "beta": slopes[::-1]})

# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the random operations: Philox4x32-10 once more, in numpy. That the numbers follow their
distributions is tested on many of them in tests/interop. Run: python3 tests/ops/make_random.py"""

import numpy as np

from cases import Cases, fp16, fp32, int32, text, type_only


def words(seed, stream, count):
    """Four 32-bit words for each i < count."""
    mask = np.uint64(0xFFFFFFFF)
    index = np.arange(count, dtype=np.uint64)
    c = [index & mask, index >> np.uint64(32), np.full(count, stream, np.uint64), np.zeros(count, np.uint64)]
    key = [seed & 0xFFFFFFFF, 0]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), p1 & mask,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), p0 & mask]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


# The first of the authors' known answers (kat_vectors of Random123).
assert [int(w[0]) for w in words(0, 0, 1)] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def uniform(seed, stream, count, bits):
    w = words(seed, stream, count)
    return (((w[0] << np.uint64(32)) | w[1]) >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits


def normal(seed, count):
    w = words(seed, 1, count)
    return np.sqrt(-2 * np.log((w[0] + 0.5) * 2.0**-32)) * np.cos(2 * np.pi * w[1].astype(np.float64) * 2.0**-32)


def write_shaped(op, draw, constants):
    """draw(seed, count, bits, *constants) for a shape that is given."""
    cases = Cases(op)
    for kind, name, bits in ((fp32, "fp32", 24), (fp16, "fp16", 11)):
        for seed in (0, 7, 2147483647, -2):
            given = {k: kind(v) for k, v in constants.items()}
            cases.add(f"draws {name} with seed {seed}", {"shape": int32([3, 5]), "seed": int32(seed), **given},
                      [kind(draw(seed, 15, bits, *(float(np.asarray(v)) for v in given.values())).reshape(3, 5))])
    cases.add("has defaults", {"shape": int32([11]), "seed": int32(3)}, [fp32(draw(3, 11, 24))])
    cases.add("makes a scalar", {"shape": int32([]), "seed": int32(3)}, [fp32(draw(3, 1, 24)[0])])
    cases.add("makes no elements", {"shape": int32([2, 0]), "seed": int32(-1)}, [fp32(np.zeros((2, 0)))])
    cases.fail("rejects a shape of rank 2", {"shape": int32([[2, 3]])}, op + "_c1")
    cases.fail("rejects a shape of unknown rank", {"shape": type_only("int32", [-1])}, op + "_c1")
    cases.fail("rejects a shape of huge rank", {"shape": type_only("int32", [1 << 40])}, op + "_c1")
    first = next(iter(constants))
    cases.fail("rejects a vector for a constant", {"shape": int32([2]), first: fp32([1, 1])}, op + "_c2")
    cases.fail("rejects a vector of seeds", {"shape": int32([2]), "seed": int32([1, 1])}, op + "_c2")
    cases.fail("rejects negative dimensions", {"shape": int32([2, -1])}, op + "_c3")
    cases.fail("rejects a shape that is too large", {"shape": int32([2147483647, 2147483647])}, op + "_c3")
    if len(constants) > 1:
        second = list(constants)[1]
        cases.fail("rejects constants of two dtypes", {"shape": int32([2]), first: fp32(0), second: fp16(1)}, "parameter")
    cases.write()


def write_categorical():
    op = "random_categorical"
    cases = Cases(op)
    x = np.array([[0.25, 2, -1, 0.5], [3, 0, 0, 0], [0, 0, -np.inf, 0]])

    def draw(weights, seed, size):
        sums = np.cumsum(weights, axis=-1)
        place = uniform(seed, 3, len(sums) * size, 53).reshape(len(sums), size) * sums[:, -1:]
        return (sums[:, None, :] <= place[:, :, None]).sum(-1)

    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        weights = np.exp(x - x.max(-1, keepdims=True))
        cases.add(f"draws from logits of {name}", {"x": kind(x), "size": int32(9), "seed": int32(5)}, [kind(draw(weights, 5, 9))])
        weights = np.array([[0.5, 0, 0.25, 0.25], [0, 0, 0, 1], [1, 2, 3, 4]])
        cases.add(f"draws from probabilities of {name}", {"x": kind(weights), "mode": text("probs"), "size": int32(9), "seed": int32(6)},
                  [kind(draw(weights, 6, 9))])
    cases.add("draws one by default", {"x": fp32([[[0, -np.inf]], [[-np.inf, 0]]]), "seed": int32(-1)}, [fp32([[[0]], [[1]]])])
    cases.add("takes a vector", {"x": fp32([-np.inf, 3, np.nan]), "size": int32(3), "seed": int32(1)}, [fp32([1, 1, 1])])
    cases.add("takes an infinite logit", {"x": fp32([0, np.inf]), "size": int32(3), "seed": int32(1)}, [fp32([1, 1, 1])])
    cases.add("takes no rows", {"x": fp32(np.zeros((0, 2))), "size": int32(3)}, [fp32(np.zeros((0, 3)))])
    cases.add("draws nothing", {"x": fp32(np.zeros((2, 2))), "size": int32(0)}, [fp32(np.zeros((2, 0)))])
    cases.fail("rejects a scalar", {"x": fp32(1)}, op + "_c1")
    cases.fail("rejects no classes", {"x": fp32(np.zeros((2, 0)))}, op + "_c1")
    cases.fail("rejects an unknown mode", {"x": fp32([1]), "mode": text("odds")}, op + "_c2")
    cases.fail("rejects a negative size", {"x": fp32([1]), "size": int32(-1)}, op + "_c3")
    cases.fail("rejects a vector of seeds", {"x": fp32([1]), "seed": int32([1, 2])}, op + "_c3")
    cases.fail("rejects a result that is too large", {"x": type_only("fp32", [1 << 30, 1]), "size": int32(2147483647)}, op + "_c4")
    cases.write()


write_shaped("random_uniform", lambda seed, count, bits, low=0.0, high=1.0: low + uniform(seed, 0, count, bits) * (high - low),
             {"low": -2.0, "high": 2.0})
write_shaped("random_bernoulli", lambda seed, count, bits, prob=0.5: (uniform(seed, 2, count, 53) < prob).astype(float), {"prob": 0.25})
write_shaped("random_normal", lambda seed, count, bits, mean=0.0, stddev=1.0: mean + stddev * normal(seed, count), {"mean": 3.0, "stddev": 0.5})
write_categorical()

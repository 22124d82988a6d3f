# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category norm. Run: python3 tests/ops/make_norm.py"""

import numpy as np

from cases import Cases, boolean, fp16, fp32, int32

random = np.random.default_rng(11)
inf = np.inf


def values(*shape):
    return np.round(random.standard_normal(shape) * 16) / 16


def softmax(x, axis=-1):
    x = np.asarray(x, np.float64)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def make_softmax():
    cases = Cases("softmax")
    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        x = values(3, 20)
        cases.add(f"works on the last axis by default in {name}", {"x": kind(x)}, [kind(softmax(x))])
        x = values(2, 5, 3)
        cases.add(f"works on an inner axis in {name}", {"x": kind(x), "axis": int32(1)}, [kind(softmax(x, 1))])
    x = values(2, 5, 3)
    cases.add("takes a negative axis", {"x": fp32(x), "axis": int32(-3)}, [fp32(softmax(x, 0))])
    cases.add("is 1 for one element", {"x": fp16(values(4, 1))}, [fp16(np.ones((4, 1)))])
    cases.add("gives nothing for nothing", {"x": fp16(values(4, 0))}, [fp16(np.ones((4, 0)))])
    x = np.array([[0, -1e4, 3, -inf], [60000, 60000, -60000, 0]])
    cases.add("survives masks and large scores", {"x": fp16(x)}, [fp16(softmax(fp16(x)))])
    cases.add("gives NaN where all is masked away, as the formula does", {"x": fp32([-inf, -inf])}, [fp32([np.nan, np.nan])])
    x = values(1, 2, 3, 2, 4)
    cases.add("works on rank 5", {"x": fp16(x), "axis": int32(2)}, [fp16(softmax(x, 2))])
    cases.fail("rejects an axis outside", {"x": fp32(values(2, 3)), "axis": int32(2)}, "softmax_c1")
    cases.fail("rejects a scalar", {"x": fp32(1.0)}, "softmax_c1")
    cases.write()


def layer_norm(x, axes, gamma=None, beta=None, epsilon=1e-5):
    x = np.asarray(x, np.float64)
    axes = tuple(sorted(a % x.ndim for a in axes))
    mean = x.mean(axis=axes, keepdims=True)
    out = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    if gamma is not None:
        out = out * np.reshape(gamma, shape)
    if beta is not None:
        out = out + np.reshape(beta, shape)
    return out


def make_layer_norm():
    cases = Cases("layer_norm")
    x, gamma, beta = values(2, 3, 20), values(20), values(20)
    for kind, name in ((fp32, "fp32"), (fp16, "fp16")):
        cases.add(f"normalizes the last axis in {name}",
                  {"x": kind(x), "axes": int32([-1]), "gamma": kind(gamma), "beta": kind(beta), "epsilon": kind(1e-3)},
                  [kind(layer_norm(x, [-1], gamma, beta, float(np.asarray(kind(1e-3)))))],
                  tolerance={"abs": 1e-3 if kind is fp16 else 1e-5, "rel": 1e-3 if kind is fp16 else 1e-5})
    cases.add("normalizes all axes by default", {"x": fp32(x)}, [fp32(layer_norm(x, [0, 1, 2]))])
    cases.add("normalizes two axes", {"x": fp32(x), "axes": int32([1, 2]), "gamma": fp32(values(3, 20) * 0 + 2)},
              [fp32(layer_norm(x, [1, 2], np.full((3, 20), 2.0)))])
    x = values(1, 20, 1, 3)
    gamma, beta = values(20), values(20)
    cases.add("normalizes channels of tokens", {"x": fp32(x), "axes": int32([1]), "gamma": fp32(gamma), "beta": fp32(beta)},
              [fp32(layer_norm(x, [1], gamma, beta))])
    cases.add("shifts without a scale", {"x": fp32(x), "axes": int32([1]), "beta": fp32(beta)}, [fp32(layer_norm(x, [1], None, beta))])
    big = np.tile([30000.0, -30000.0, 20000.0, 100.0], 5).reshape(1, 20)
    cases.add("has fp32 statistics for large fp16 numbers", {"x": fp16(big), "axes": int32([-1])}, [fp16(layer_norm(big, [-1]))])
    far = 1000 + values(1, 64) / 4
    cases.add("keeps small differences of large numbers", {"x": fp32(far), "axes": int32([-1])}, [fp32(layer_norm(far, [-1]))],
              tolerance={"abs": 1e-3, "rel": 1e-3})
    cases.add("takes constants of another float dtype", {"x": fp16(x), "axes": int32([1]), "gamma": fp32(gamma), "beta": fp32(beta), "epsilon": fp32(1e-5)},
              [fp16(layer_norm(x, [1], gamma, beta))], tolerance={"abs": 1e-3, "rel": 1e-3})
    cases.add("takes an fp32 epsilon beside halves in ios15", {"x": fp16(big), "axes": int32([-1]), "epsilon": fp32(1e-5)}, [fp16(layer_norm(big, [-1]))], opset="ios15")
    cases.add("is the shift for one element", {"x": fp32(values(3, 1)), "axes": int32([1]), "beta": fp32([0.5])}, [fp32(np.full((3, 1), 0.5))])
    x = fp32(values(2, 3, 4))
    cases.fail("rejects an axis outside", {"x": x, "axes": int32([3])}, "layer_norm_c1")
    cases.fail("rejects an axis twice", {"x": x, "axes": int32([2, -1])}, "layer_norm_c1")
    cases.fail("rejects axes of rank 2", {"x": x, "axes": int32([[2]])}, "layer_norm_c1")
    cases.fail("rejects a gamma of another size", {"x": x, "axes": int32([2]), "gamma": fp32(values(3))}, "layer_norm_c2")
    cases.fail("rejects a beta of another rank", {"x": x, "axes": int32([1, 2]), "beta": fp32(values(4))}, "layer_norm_c2")
    cases.fail("rejects constants of another dtype before ios17", {"x": x, "axes": int32([2]), "gamma": fp16(values(4))}, "layer_norm_c3", opset="ios16")
    cases.fail("rejects an epsilon vector", {"x": x, "epsilon": fp32([1e-5, 1e-5])}, "layer_norm_c4")
    cases.write()


def make_l2_norm():
    cases = Cases("l2_norm")

    def l2(x, epsilon=1e-6):
        x = np.asarray(x, np.float64)
        return x / np.sqrt(np.sum(x * x, axis=(-3, -2, -1), keepdims=True) + epsilon)

    x = values(2, 3, 2, 5)
    cases.add("normalizes the last three dimensions", {"x": fp32(x)}, [fp32(l2(x))])
    cases.add("normalizes in fp16", {"x": fp16(x), "epsilon": fp16(0.25)}, [fp16(l2(x, 0.25))])
    cases.add("takes rank 3", {"x": fp32(x[0]), "epsilon": fp32(0.5)}, [fp32(l2(x[0], 0.5))])
    cases.add("adds epsilon under the root", {"x": fp32(np.zeros((1, 1, 2)))}, [fp32(np.zeros((1, 1, 2)))])
    cases.fail("rejects rank 2", {"x": fp32(values(2, 3))}, "l2_norm_c1")
    cases.fail("rejects an epsilon of another dtype before ios17", {"x": fp32(x), "epsilon": fp16(0.5)}, "l2_norm_c2", opset="ios15")
    cases.fail("rejects an epsilon vector", {"x": fp32(x), "epsilon": fp32([1, 1])}, "l2_norm_c3")
    cases.write()


def channels(vector, rank):
    return np.asarray(vector, np.float64).reshape([1, -1] + [1] * (rank - 2))


def make_batch_norm():
    cases = Cases("batch_norm")

    def norm(x, mean, variance, gamma=None, beta=None, epsilon=1e-5):
        out = (x - channels(mean, x.ndim)) / np.sqrt(channels(variance, x.ndim) + epsilon)
        out = out if gamma is None else out * channels(gamma, x.ndim)
        return out if beta is None else out + channels(beta, x.ndim)

    for shape in ((2, 3, 5), (2, 3, 2, 4), (1, 3, 2, 2, 3)):
        x, mean, variance, gamma, beta = values(*shape), values(3), values(3) ** 2 + 0.5, values(3), values(3)
        cases.add(f"normalizes channels of rank {len(shape)}",
                  {"x": fp32(x), "mean": fp32(mean), "variance": fp32(variance), "gamma": fp32(gamma), "beta": fp32(beta)},
                  [fp32(norm(x, mean, variance, gamma, beta))])
    cases.add("normalizes in fp16", {"x": fp16(x), "mean": fp16(mean), "variance": fp16(np.float16(variance)), "epsilon": fp16(0.125)},
              [fp16(norm(x, mean, np.float16(variance), epsilon=0.125))])
    cases.add("scales and shifts halves", {"x": fp16(x), "mean": fp16(mean), "variance": fp16(np.float16(variance)), "gamma": fp16(gamma), "beta": fp16(beta)},
              [fp16(norm(x, mean, np.float16(variance), gamma, beta))], tolerance={"abs": 1e-3, "rel": 1e-3})
    cases.add("takes an epsilon", {"x": fp32(x), "mean": fp32(mean), "variance": fp32(variance), "epsilon": fp32(0.5)}, [fp32(norm(x, mean, variance, epsilon=0.5))])
    cases.add("takes an fp32 epsilon beside halves in ios16", {"x": fp16(x), "mean": fp16(mean), "variance": fp16(np.float16(variance)), "epsilon": fp32(0.125)},
              [fp16(norm(x, mean, np.float16(variance), epsilon=0.125))], opset="ios16")
    cases.add("takes statistics of another float dtype", {"x": fp16(x), "mean": fp32(mean), "variance": fp32(variance)},
              [fp16(norm(x, mean, np.float32(variance)))])
    x, m, v = fp32(values(2, 3, 4)), fp32(values(3)), fp32(np.ones(3))
    cases.fail("rejects rank 2", {"x": fp32(values(2, 3)), "mean": m, "variance": v}, "batch_norm_c1")
    cases.fail("rejects a mean of another size", {"x": x, "mean": fp32(values(2)), "variance": v}, "batch_norm_c2")
    cases.fail("rejects a gamma of rank 2", {"x": x, "mean": m, "variance": v, "gamma": fp32(values(1, 3))}, "batch_norm_c2")
    cases.fail("rejects statistics of another dtype before ios17", {"x": x, "mean": fp16(values(3)), "variance": fp16(np.ones(3))}, "batch_norm_c3", opset="ios15")
    cases.fail("rejects an epsilon vector", {"x": x, "mean": m, "variance": v, "epsilon": fp32([1, 1])}, "batch_norm_c4")
    cases.write()


def make_instance_norm():
    cases = Cases("instance_norm")

    def norm(x, gamma=None, beta=None, epsilon=1e-5):
        out = layer_norm(x, range(2, x.ndim), epsilon=epsilon)
        out = out if gamma is None else out * channels(gamma, x.ndim)
        return out if beta is None else out + channels(beta, x.ndim)

    for shape in ((2, 3, 5), (2, 3, 2, 4)):
        x, gamma, beta = values(*shape), values(3), values(3)
        cases.add(f"normalizes each channel of rank {len(shape)}", {"x": fp32(x), "gamma": fp32(gamma), "beta": fp32(beta)},
                  [fp32(norm(x, gamma, beta))], tolerance={"abs": 1e-5, "rel": 1e-5})
    cases.add("has no scale by default", {"x": fp32(x)}, [fp32(norm(x))])
    cases.add("takes an epsilon", {"x": fp32(x), "epsilon": fp32(0.5)}, [fp32(norm(x, epsilon=0.5))])
    cases.add("scales and shifts halves", {"x": fp16(x), "gamma": fp16(gamma), "beta": fp16(beta)}, [fp16(norm(x, gamma, beta))],
              tolerance={"abs": 1e-3, "rel": 1e-3})
    cases.add("normalizes in fp16", {"x": fp16(x), "gamma": fp16(gamma), "epsilon": fp16(0.125)}, [fp16(norm(x, gamma, epsilon=0.125))],
              tolerance={"abs": 1e-3, "rel": 1e-3})
    x = fp32(values(2, 3, 4))
    cases.fail("rejects rank 2", {"x": fp32(values(2, 3))}, "instance_norm_c1")
    cases.fail("rejects a beta of another size", {"x": x, "beta": fp32(values(4))}, "instance_norm_c2")
    cases.fail("rejects constants of another dtype before ios17", {"x": x, "gamma": fp16(values(3))}, "instance_norm_c3", opset="ios16")
    cases.fail("rejects an epsilon vector", {"x": x, "epsilon": fp32([1, 1])}, "instance_norm_c4")
    cases.write()


def make_attention():
    name = "scaled_dot_product_attention"
    cases = Cases(name)

    def attend(q, k, v, mask=None):
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])
        if mask is not None:
            mask = np.asarray(mask)
            scores = scores + (np.where(mask, 0.0, -inf) if mask.dtype == bool else mask)
        return np.matmul(softmax(scores), v)

    def add(title, kind, q, k, v, mask=None, mask_kind=None):
        inputs = {"query": kind(q), "key": kind(k), "value": kind(v)}
        if mask is not None:
            inputs["attn_mask"] = mask_kind(mask)
        cases.add(title, inputs, [kind(attend(q, k, v, mask))],
                  tolerance={"abs": 1e-3 if kind is fp16 else 1e-5, "rel": 1e-3 if kind is fp16 else 1e-5})

    q, k, v = values(2, 3, 18), values(2, 5, 18), values(2, 5, 7)
    add("attends without a mask", fp32, q, k, v)
    add("attends in fp16", fp16, q, k, v)
    add("adds a float mask", fp16, q, k, v, values(3, 5), fp16)
    add("adds a float mask of -inf", fp32, q, k, v, np.where(np.tri(3, 5, 1) > 0, 0, -inf), fp32)
    add("keeps what a bool mask says", fp16, q, k, v, np.tri(3, 5, 2) > 0, boolean)
    add("broadcasts a mask over the queries", fp32, q, k, v, values(5), fp32)
    add("takes a mask a batch", fp32, q, k, v, values(2, 3, 5), fp32)
    add("broadcasts a mask over the batches", fp32, q, k, v, values(1, 3, 5), fp32)
    q, k, v = values(1, 4, 1, 8), values(1, 4, 9, 8), values(1, 4, 9, 8)
    add("attends with several heads", fp16, q, k, v)
    add("broadcasts a mask over the heads", fp16, q, k, v, values(1, 1, 1, 9), fp16)
    mask = np.array([[True, False], [False, False]])
    q, k, v = values(1, 2, 4), values(1, 2, 4), values(1, 2, 3)
    cases.add("gives zeros to a query that attends to nothing",
              {"query": fp32(q), "key": fp32(k), "value": fp32(v), "attn_mask": boolean(mask)},
              [fp32(np.stack([np.stack([v[0, 0], np.zeros(3)])]))])
    cases.add("gives zeros where there are no keys", {"query": fp32(q), "key": fp32(values(1, 0, 4)), "value": fp32(values(1, 0, 3))},
              [fp32(np.zeros((1, 2, 3)))])

    q, k, v = fp32(values(2, 3, 4)), fp32(values(2, 5, 4)), fp32(values(2, 5, 6))
    cases.fail("rejects rank 2", {"query": fp32(values(3, 4)), "key": fp32(values(5, 4)), "value": fp32(values(5, 6))}, name + "_c1")
    cases.fail("rejects ranks that differ", {"query": q, "key": fp32(values(1, 2, 5, 4)), "value": v}, name + "_c1")
    cases.fail("rejects batches that differ", {"query": q, "key": fp32(values(1, 5, 4)), "value": v}, name + "_c2")
    cases.fail("rejects embeddings that differ", {"query": q, "key": fp32(values(2, 5, 3)), "value": v}, name + "_c3")
    cases.fail("rejects lengths that differ", {"query": q, "key": k, "value": fp32(values(2, 4, 6))}, name + "_c4")
    cases.fail("rejects a mask of another length", {"query": q, "key": k, "value": v, "attn_mask": fp32(values(3, 4))}, name + "_c5")
    cases.fail("rejects a mask that would broadcast over keys", {"query": q, "key": k, "value": v, "attn_mask": fp32(values(3, 1))}, name + "_c5")
    cases.fail("rejects a scalar mask", {"query": q, "key": k, "value": v, "attn_mask": fp32(1.0)}, name + "_c5")
    cases.fail("rejects ios17", {"query": q, "key": k, "value": v}, "ios18", opset="ios17")
    cases.write()


def make_local_response_norm():
    name = "local_response_norm"
    cases = Cases(name)

    def norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
        x = np.asarray(x, np.float64)
        out = np.empty_like(x)
        for c in range(x.shape[1]):
            around = x[:, max(0, c - size // 2):c + (size - 1) // 2 + 1]
            out[:, c] = x[:, c] / (k + alpha / size * np.sum(around**2, axis=1)) ** beta
        return out

    for kind, dtype in ((fp32, "fp32"), (fp16, "fp16")):
        given = {"alpha": kind(0.5), "beta": kind(1.25), "k": kind(2)}
        for size in (1, 2, 3, 9):
            x = values(2, 5, 3, 2)
            cases.add(f"looks at {size} channels in {dtype}", {"x": kind(x), "size": int32(size), **given}, [kind(norm(x, size, 0.5, 1.25, 2))])
    x = values(1, 4, 3) * 16
    cases.add("has defaults", {"x": fp32(x), "size": int32(3)}, [fp32(norm(x, 3))])
    cases.add("takes fp32 constants for fp16", {"x": fp16(x), "size": int32(3), "alpha": fp32(0.5)}, [fp16(norm(x, 3, 0.5))])
    cases.add("takes one constant of fp16", {"x": fp16(x), "size": int32(3), "alpha": fp16(0.5)}, [fp16(norm(x, 3, 0.5))])
    cases.add("takes a huge size", {"x": fp32(x), "size": int32(2147483647), "alpha": fp32(1e9)}, [fp32(norm(x, 2147483647, 1e9))])
    cases.add("takes no channels", {"x": fp32(values(2, 0, 3)), "size": int32(3)}, [fp32(values(2, 0, 3))])
    cases.fail("rejects rank 2", {"x": fp32(values(2, 3)), "size": int32(3)}, name + "_c1")
    cases.fail("rejects a size of 0", {"x": fp32(x), "size": int32(0)}, name + "_c2")
    cases.fail("rejects a vector", {"x": fp32(x), "size": int32(3), "beta": fp32([1, 1])}, name + "_c3")
    cases.write()


make_softmax()
make_layer_norm()
make_l2_norm()
make_batch_norm()
make_instance_norm()
make_attention()
make_local_response_norm()

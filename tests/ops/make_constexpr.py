# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of the category constexpr. numpy is the oracle; see cases.py.

With coremltools installed every expected value is compared with coremltools' own decompression too. Run: python3 tests/ops/make_constexpr.py
"""

import numpy as np

from cases import Cases, fp16, fp32, int32, tensor, text, type_only

try:
    from coremltools.converters.mil.mil.ops.defs.iOS16 import constexpr_ops as ios16
    from coremltools.converters.mil.mil.ops.defs.iOS18 import compression as ios18
except ImportError:
    ios16 = ios18 = None

RANDOM = np.random.default_rng(23)
BITS = {"uint1": 1, "uint2": 2, "uint3": 3, "uint4": 4, "uint6": 6, "uint8": 8}
LIMITS = {"int4": (-8, 8), "uint4": (0, 16), "int8": (-128, 128), "uint8": (0, 256)}
FLOATS = {"fp16": fp16, "fp32": fp32}


def sample(dtype, *shape):
    if dtype in FLOATS:
        return FLOATS[dtype](np.round(RANDOM.standard_normal(shape) * 64) / 64)
    low, high = LIMITS.get(dtype) or (0, 1 << BITS[dtype])
    values = RANDOM.integers(low, high, shape)
    if values.size > 1:  # both ends are there
        values.reshape(-1)[:2] = low, high - 1
    return tensor(dtype, values)


def agree(got, want, dtype):
    """coremltools computes in the dtype of the scale, we in a wider one."""
    rtol = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 1e-6}.get(dtype, 0)
    assert got.dtype == dtype and got.shape == want.shape, (got.dtype, dtype, got.shape, want.shape)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def repeat(blocks, shape):
    """One value per block, spread over the elements of the block."""
    for axis, (count, size) in enumerate(zip(blocks.shape, shape)):
        blocks = np.repeat(blocks, size // count, axis)
    return blocks


def shift_scale(data, scale, offset=None):
    wide = data.array.astype(np.float64)
    if offset is not None:
        wide = wide - repeat(offset.array.astype(np.float64), wide.shape)
    out = FLOATS[scale.dtype](wide * repeat(scale.array.astype(np.float64), wide.shape))
    if ios18 is not None and data.array.size > 0:
        got = ios18.constexpr_blockwise_shift_scale.decompress(data.array, scale.array, None if offset is None else offset.array.astype(scale.array.dtype))
        agree(got, out.array, scale.array.dtype)
    return out


def make_affine_dequantize():
    op = "constexpr_affine_dequantize"
    cases = Cases(op)

    def add(name, data, scale, zero_point, axis, **rest):
        along = [1] * data.array.ndim
        along[axis] = -1
        spread = [np.reshape(v.array.astype(np.float64), along if v.array.ndim else []) for v in (scale, zero_point)]
        want = FLOATS[scale.dtype](spread[0] * (data.array.astype(np.float64) - spread[1]))
        if ios16 is not None:
            got = ios16.constexpr_affine_dequantize.decompress(data.array, zero_point.array, scale.array, axis)
            agree(got, want.array, scale.array.dtype)
        inputs = {"quantized_data": data, "zero_point": zero_point, "scale": scale, "axis": int32(axis)}
        cases.add(name, inputs, [want], **rest)

    for dtype in ("int8", "uint8"):
        for kind in FLOATS:
            add(f"scales {dtype} rows to {kind}", sample(dtype, 3, 4), sample(kind, 3), sample(dtype, 3), 0)
    data = sample("int8", 2, 3, 4)
    for axis in (1, 2, -1, -3):
        size = data.array.shape[axis]
        add(f"scales along axis {axis}", data, sample("fp16", size), sample("int8", size), axis)
    add("takes a scalar scale and zero point", data, fp16(0.25), tensor("int8", -3), 0)
    add("takes a scalar scale and a vector of zero points", data, fp16(0.25), sample("int8", 3), 1)
    add("takes a vector of scales and a scalar zero point", data, sample("fp32", 3), tensor("int8", 7), 1)
    add("takes a float zero point", data, fp16(0.5), fp32(1.5), 0)
    add("subtracts beyond the range of int8", tensor("int8", [-128, 127]), fp32(1), tensor("int8", [127, -128]), 0)
    add("subtracts beyond the range of uint8", tensor("uint8", [0, 255]), fp32(1), tensor("uint8", [255, 0]), 0)
    for dtype, other, ends in (("int8", "uint8", [0, 127, 255]), ("uint8", "int8", [-128, 0, 127])):
        for opset, scale, zero_point in (("ios18", fp16(0.25), 100), ("ios16", fp32([1, 0.5, 2]), ends)):
            add(f"subtracts {zero_point} of {other} from {dtype}", tensor(dtype, np.arange(24).reshape(2, 3, 4) * 5), scale, tensor(other, zero_point), 1, opset=opset)
    inputs = {"quantized_data": sample("int8", 2, 3), "zero_point": tensor("int8", 0), "scale": fp16(1), "axis": int32(0)}
    cases.add("takes no elements", {**inputs, "quantized_data": tensor("int8", np.zeros((2, 0)))}, [fp16(np.zeros((2, 0)))])
    for axis in (2, -3):
        cases.fail(f"refuses axis {axis} (c1)", {**inputs, "axis": int32(axis)}, f"{op}_c1")
    cases.fail("refuses a scalar (c1)", {**inputs, "quantized_data": tensor("int8", 1)}, f"{op}_c1")
    cases.fail("refuses scales of another size (c2)", {**inputs, "scale": fp16([1, 2, 3])}, f"{op}_c2")
    cases.fail("refuses zero points of another size (c2)", {**inputs, "zero_point": tensor("int8", [0] * 3)}, f"{op}_c2")
    cases.fail("refuses scales of rank 2 (c2)", {**inputs, "scale": fp16([[1], [2]])}, f"{op}_c2")
    cases.fail("refuses more elements than a machine holds (c3)", {**inputs, "quantized_data": type_only("int8", [2**21, 2**21])}, f"{op}_c3")
    cases.fail("refuses int4", {**inputs, "quantized_data": tensor("int4", [[1]])}, 'parameter "quantized_data" cannot be')
    cases.fail("exists from iOS16 on", inputs, "exists from ios16 on", opset="ios15")
    cases.write()


def make_blockwise_shift_scale():
    op = "constexpr_blockwise_shift_scale"
    cases = Cases(op)

    def add(name, data, scale, offset=None, **rest):
        inputs = {"data": data, "scale": scale}
        if offset is not None:
            inputs["offset"] = offset
        cases.add(name, inputs, [shift_scale(data, scale, offset)], **rest)

    for dtype in tuple(LIMITS) + tuple(FLOATS):
        for kind in FLOATS:
            add(f"scales {dtype} rows to {kind}", sample(dtype, 3, 5), sample(kind, 3, 1))
            add(f"scales and shifts {dtype} rows to {kind}", sample(dtype, 3, 5), sample(kind, 3, 1), sample(dtype, 3, 1))
        add(f"shifts {dtype} by a float", sample(dtype, 2, 3), sample("fp16", 2, 1), fp16([[0.5], [-7.25]]))
    for shape, blocks in (((6,), (1,)), ((6,), (3,)), ((6,), (6,)), ((4, 6), (2, 3)), ((4, 6), (4, 2)), ((4, 6), (1, 6)), ((4, 6), (4, 6)),
                          ((2, 3, 4), (1, 3, 2)), ((8, 6, 1, 1), (8, 2, 1, 1)), ((4, 4, 2, 2), (2, 2, 1, 2)), ((2, 1, 2, 3, 4, 2), (1, 1, 2, 1, 2, 1))):
        add(f"cuts {list(shape)} into blocks {list(blocks)}", sample("int4", *shape), sample("fp16", *blocks), sample("int4", *blocks))
    add("reads rows that begin inside a byte", sample("uint4", 5, 3), sample("fp16", 5, 1), sample("uint4", 5, 1))
    add("subtracts beyond the range of int4", tensor("int4", [-8, 7]), fp16([1, 1]), tensor("int4", [7, -8]))
    add("subtracts beyond the range of uint8", tensor("uint8", [0, 255]), fp32([1, 1]), tensor("uint8", [255, 0]))
    add("takes no elements", tensor("int8", np.zeros((0, 4))), fp16(np.ones((1, 1))))

    inputs = {"data": sample("int8", 4, 6), "scale": fp16(np.ones((2, 3)))}
    cases.fail("refuses a scalar (c1)", {"data": tensor("int8", 1), "scale": fp16(1)}, f"{op}_c1")
    cases.fail("refuses scales of another rank (c1)", {**inputs, "scale": fp16([1])}, f"{op}_c1")
    cases.fail("refuses scales that do not divide the data (c2)", {**inputs, "scale": fp16(np.ones((4, 4)))}, f"{op}_c2")
    cases.fail("refuses more scales than data (c2)", {**inputs, "scale": fp16(np.ones((8, 6)))}, f"{op}_c2")
    cases.fail("refuses no scales (c2)", {**inputs, "scale": fp16(np.zeros((0, 1)))}, f"{op}_c2")
    cases.fail("refuses offsets of another shape (c3)", {**inputs, "offset": tensor("int8", [[0]])}, f"{op}_c3")
    cases.fail("refuses offsets of another integer dtype (c4)", {**inputs, "offset": tensor("uint8", np.zeros((2, 3)))}, f"{op}_c4")
    cases.fail("refuses more elements than a machine holds (c5)", {"data": type_only("int8", [2**21, 2**21]), "scale": fp16([[1]])}, f"{op}_c5")
    cases.fail("refuses integer scales", {**inputs, "scale": int32(np.ones((2, 3)))}, 'parameter "scale" cannot be')
    cases.fail("exists from iOS18 on", inputs, "exists from ios18 on", opset="ios17")
    cases.write()


def make_cast():
    op = "constexpr_cast"
    cases = Cases(op)
    for name, values in (("a vector", [1, -2.5, 65504, 6e-8]), ("a scalar", 3), ("nothing", np.zeros((0, 2))),
                         ("infinities and not a number", [np.inf, -np.inf, np.nan, -0.0]), ("a rank of three", RANDOM.standard_normal((2, 3, 4)))):
        x = fp16(values)
        for opset in ("ios16", "ios18"):
            cases.add(f"widens {name} in {opset}", {"source_val": x, "output_dtype": text("fp32")}, [fp32(x.array)], opset=opset)
    inputs = {"source_val": fp16([1]), "output_dtype": text("fp32")}
    for dtype in ("fp16", "int32", "bogus", ""):
        cases.fail(f"refuses to give \"{dtype}\" (c1)", {**inputs, "output_dtype": text(dtype)}, f"{op}_c1")
    cases.fail("refuses more elements than a machine holds (c2)", {**inputs, "source_val": type_only("fp16", [2**41])}, f"{op}_c2")
    cases.fail("refuses fp32", {**inputs, "source_val": fp32([1])}, 'parameter "source_val" cannot be')
    cases.fail("exists from iOS16 on", inputs, "exists from ios16 on", opset="ios15")
    cases.write()


def lut_values(indices, lut, vector_axis=None):
    """indices: array; lut: array [groups..., palettes, vector]."""
    groups, vector = lut.shape[:-2], lut.shape[-1]
    axis = (0 if vector_axis is None else vector_axis) % indices.ndim
    shape = list(indices.shape)
    shape[axis] *= vector
    out = np.zeros(shape, lut.dtype)
    for place in np.ndindex(*indices.shape):
        table = tuple(p // (size // count) for p, size, count in zip(place, indices.shape, groups))
        for v, value in enumerate(lut[table][indices[place]]):
            to = list(place)
            to[axis] = place[axis] * vector + v
            out[tuple(to)] = value
    if ios18 is not None and indices.size > 0:
        agree(ios18.constexpr_lut_to_dense.decompress(indices, lut, vector_axis), out, lut.dtype)
    return out


def pack(values, bits):
    """One bit stream, the first element in the low bits of the first byte."""
    stream = "".join(format(int(v), f"0{bits}b")[::-1] for v in np.reshape(values, -1))
    stream += "0" * (-len(stream) % 8)
    return tensor("uint8", [int(stream[i:i + 8][::-1], 2) for i in range(0, len(stream), 8)])


def shape_of(*dims):
    return tensor("uint32", np.array(dims, np.int64))


def make_lut_to_dense():
    op = "constexpr_lut_to_dense"
    cases = Cases(op)

    def add(name, indices, lut, vector_axis=None, **rest):
        inputs = {"indices": indices, "lut": lut}
        if vector_axis is not None:
            inputs["vector_axis"] = int32(vector_axis)
        cases.add(name, inputs, [tensor(lut.dtype, lut_values(indices.array, lut.array, vector_axis))], **rest)

    for dtype, bits in BITS.items():
        for kind in ("fp16", "fp32", "int8", "uint8"):
            add(f"looks {dtype} up in {kind}", sample(dtype, 3, 7), sample(kind, 1, 1, 1 << bits, 1))
        add(f"looks {dtype} up in tables by row", sample(dtype, 4, 9), sample("fp16", 2, 1, 1 << bits, 1))
    for shape, groups in (((6,), (1,)), ((6,), (3,)), ((4, 6), (4, 1)), ((4, 6), (1, 6)), ((4, 6), (2, 3)), ((2, 3, 4), (1, 3, 2)),
                          ((8, 6, 1, 1), (4, 1, 1, 1)), ((2, 1, 2, 2, 2), (1, 1, 2, 1, 2))):
        add(f"cuts {list(shape)} into groups {list(groups)}", sample("uint4", *shape), sample("fp16", *groups, 16, 1))
    for axis in (0, 1, 2, -1, -3):
        add(f"looks vectors up along axis {axis}", sample("uint2", 2, 3, 4), sample("fp16", 1, 1, 1, 4, 2), axis)
    add("looks vectors up in groups", sample("uint3", 4, 6), sample("fp16", 2, 3, 8, 4), 0)
    add("looks vectors up in groups along the other axis", sample("uint3", 4, 6), sample("fp16", 2, 3, 8, 4), 1)
    add("looks vectors of bytes up", sample("uint6", 4, 3), sample("int8", 1, 1, 64, 3), 0)
    add("ignores the vector axis for single elements", sample("uint1", 3, 4), sample("fp16", 3, 1, 2, 1), 1)
    add("takes no elements", tensor("uint4", np.zeros((0, 3))), sample("fp16", 1, 1, 16, 1))

    def packed(name, bits, kind, *dims, opset="ios16"):
        lut = sample(kind, 1 << bits)
        indices = RANDOM.integers(0, 1 << bits, dims)
        stream = pack(indices, bits)
        want = lut.array[indices]
        if ios16 is not None and indices.size > 0 and dims:
            agree(ios16.constexpr_lut_to_dense.decompress(lut.array, stream.array, dims), want, lut.array.dtype)
        cases.add(name, {"indices": stream, "lut": lut, "shape": shape_of(*dims)}, [tensor(kind, want)], opset=opset)

    for bits in (1, 2, 4, 6, 8):
        for kind in ("fp16", "fp32", "int8", "uint8"):
            packed(f"looks packed {bits}-bit indices up in {kind}", bits, kind, 3, 5)
    packed("takes packed indices in iOS17", 4, "fp16", 2, 3, 2, opset="ios17")
    packed("takes packed indices in iOS18", 4, "fp16", 7, opset="ios18")
    packed("takes one packed index", 6, "fp16")
    packed("takes no packed indices", 4, "fp16", 3, 0)

    inputs = {"indices": sample("uint2", 4, 6), "lut": sample("fp16", 1, 1, 4, 1)}
    cases.fail("refuses a scalar index (c1)", {"indices": tensor("uint2", 1), "lut": sample("fp16", 4, 1)}, f"{op}_c1")
    cases.fail("refuses a lut of another rank (c1)", {**inputs, "lut": sample("fp16", 1, 4, 1)}, f"{op}_c1")
    cases.fail("refuses groups that do not divide the indices (c2)", {**inputs, "lut": sample("fp16", 3, 1, 4, 1)}, f"{op}_c2")
    cases.fail("refuses no groups (c2)", {**inputs, "lut": fp16(np.zeros((0, 1, 4, 1)))}, f"{op}_c2")
    for count in (2, 3, 16, 0):
        cases.fail(f"refuses tables of {count} for 2-bit indices (c3)", {**inputs, "lut": fp16(np.zeros((1, 1, count, 1)))}, f"{op}_c3")
    cases.fail("refuses vectors without an axis (c4)", {**inputs, "lut": sample("fp16", 1, 1, 4, 2)}, f"{op}_c4")
    cases.fail("refuses vectors of nothing (c4)", {**inputs, "lut": sample("fp16", 1, 1, 4, 0)}, f"{op}_c4")
    for axis in (2, -3):
        cases.fail(f"refuses the vector axis {axis} (c4)", {**inputs, "lut": sample("fp16", 1, 1, 4, 2), "vector_axis": int32(axis)}, f"{op}_c4")
    cases.fail("refuses vectors that overflow (c4)",
               {"indices": type_only("uint1", [2**40]), "lut": type_only("fp16", [1, 2, 2**40]), "vector_axis": int32(0)}, f"{op}_c4")
    bytes3 = {"indices": tensor("uint8", [1, 2, 3]), "shape": shape_of(6)}
    for count in (1, 8, 15, 512):
        cases.fail(f"refuses a table of {count} for packed indices (c5)", {**bytes3, "lut": fp16(np.zeros(count))}, f"{op}_c5", opset="ios16")
    cases.fail("refuses tables in groups for packed indices (c5)", {**bytes3, "lut": fp16(np.zeros((1, 16)))}, f"{op}_c5")
    cases.fail("refuses packed indices of another dtype (c5)", {**bytes3, "indices": tensor("uint4", [1, 2, 3]), "lut": sample("fp16", 16)}, f"{op}_c5")
    table = {**bytes3, "lut": sample("fp16", 16)}
    cases.fail("refuses too few bytes (c6)", {**table, "shape": shape_of(7)}, f"{op}_c6", opset="ios16")
    cases.fail("refuses too many bytes (c6)", {**table, "shape": shape_of(2, 2)}, f"{op}_c6", opset="ios16")
    cases.fail("refuses bytes of rank 2 (c6)", {**table, "indices": tensor("uint8", [[1, 2, 3]])}, f"{op}_c6")
    cases.fail("refuses a shape of rank 2 (c6)", {**table, "shape": tensor("uint32", [[6]])}, f"{op}_c6")
    cases.fail("refuses a shape that overflows (c6)", {**table, "shape": shape_of(*[2**32 - 1] * 4)}, f"{op}_c6")
    cases.fail("refuses more elements than a machine holds (c7)", {**inputs, "indices": type_only("uint2", [2**21, 2**21])}, f"{op}_c7")
    cases.fail("refuses vector_axis before iOS18", {**inputs, "vector_axis": int32(0)}, "exists from ios18 on", opset="ios17")
    cases.fail("exists from iOS16 on", table, "exists from ios16 on", opset="ios15")
    cases.write()


def make_sparse_to_dense():
    op = "constexpr_sparse_to_dense"
    cases = Cases(op)

    def dense(nonzero, mask):
        out = np.zeros(mask.shape, nonzero.array.dtype)
        out.reshape(-1)[np.flatnonzero(mask)] = nonzero.array
        return tensor(nonzero.dtype, out)

    def add(name, dtype, mask, packed=False, **rest):
        mask = np.array(mask)
        nonzero = sample(dtype, int(np.count_nonzero(mask)))
        want = dense(nonzero, mask)
        inputs = {"nonzero_data": nonzero, "mask": tensor("uint1", mask)}
        if ios18 is not None:
            agree(ios18.constexpr_sparse_to_dense.decompress(nonzero.array, mask), want.array, want.array.dtype)
        if packed:
            inputs.update(mask=pack(mask, 1), shape=shape_of(*mask.shape))
        cases.add(name, inputs, [want], **rest)

    def mask(*shape):
        return RANDOM.integers(0, 2, shape)

    for dtype in tuple(LIMITS) + tuple(FLOATS):
        add(f"spreads {dtype}", dtype, mask(3, 7))
        if dtype not in ("int4", "uint4"):
            add(f"spreads {dtype} by a packed mask", dtype, mask(3, 7), packed=True, opset="ios16")
    add("spreads a vector", "fp16", mask(17))
    add("spreads over four axes", "fp16", mask(2, 3, 1, 4))
    add("spreads over four axes by a packed mask", "fp16", mask(2, 3, 1, 4), packed=True)
    add("spreads elements everywhere", "int8", np.ones((3, 3)))
    add("spreads nothing over zeros", "fp16", np.zeros((3, 3)))
    add("spreads nothing over nothing", "fp16", np.zeros((3, 0)))
    add("spreads nothing over nothing by a packed mask", "fp16", np.zeros((3, 0)), packed=True)
    cases.add("ignores the bits behind the mask", {"nonzero_data": fp16([5]), "mask": tensor("uint8", [0b11111010]), "shape": shape_of(3)},
              [fp16([0, 5, 0])], opset="ios16")

    inputs = {"nonzero_data": fp16([1, 2]), "mask": tensor("uint1", [[1, 0], [0, 1]])}
    packed = {"nonzero_data": fp16([1, 2]), "mask": tensor("uint8", [0b1001]), "shape": shape_of(2, 2)}
    cases.fail("refuses a mask of bytes without a shape (c1)", {**inputs, "mask": tensor("uint8", [[1, 0], [0, 1]])}, f"{op}_c1")
    cases.fail("refuses a mask of bits with a shape (c1)", {**inputs, "shape": shape_of(2, 2)}, f"{op}_c1")
    cases.fail("refuses int4 with a packed mask (c1)", {**packed, "nonzero_data": tensor("int4", [1, 2])}, f"{op}_c1")
    cases.fail("refuses too few bytes (c2)", {**packed, "shape": shape_of(3, 3)}, f"{op}_c2", opset="ios16")
    cases.fail("refuses a shape that overflows (c2)", {**packed, "shape": shape_of(*[2**32 - 1] * 4)}, f"{op}_c2")
    cases.fail("refuses too few elements (c3)", {**inputs, "nonzero_data": fp16([1])}, f"{op}_c3")
    cases.fail("refuses too many elements (c3)", {**inputs, "nonzero_data": fp16([1, 2, 3])}, f"{op}_c3")
    cases.fail("refuses too many elements for a packed mask (c3)", {**packed, "nonzero_data": fp16([1, 2, 3])}, f"{op}_c3", opset="ios16")
    cases.fail("refuses elements of rank 2 (c3)", {**inputs, "nonzero_data": fp16([[1, 2]])}, f"{op}_c3")
    cases.fail("refuses more elements than a machine holds (c4)", {**inputs, "mask": type_only("uint1", [2**21, 2**21])}, f"{op}_c4")
    cases.fail("exists from iOS16 on", packed, "exists from ios16 on", opset="ios15")
    cases.write()


def make_lut_to_sparse():
    op = "constexpr_lut_to_sparse"
    cases = Cases(op)

    def add(name, mask, indices, lut, vector_axis=None):
        where, grown = mask.array != 0, mask.array
        full = np.zeros(where.shape, np.uint8)
        full[where] = indices.array
        dense = lut_values(full, lut.array, vector_axis)
        if vector_axis is not None:
            grown = np.repeat(grown, lut.array.shape[-1], vector_axis)
        want = dense[grown != 0]
        if ios18 is not None:
            got = ios18.constexpr_lut_to_sparse.decompress(mask.array, indices.array, lut.array, vector_axis)
            agree(got[0], grown, grown.dtype)
            agree(got[1], want, lut.array.dtype)
        inputs = {"indices_mask": mask, "indices_nonzero_data": indices, "lut": lut}
        if vector_axis is not None:
            inputs["vector_axis"] = int32(vector_axis)
        cases.add(name, inputs, [tensor("uint1", grown), tensor(lut.dtype, want)])

    def masked(dtype, *shape):
        mask = tensor("uint1", RANDOM.integers(0, 2, shape))
        return mask, sample(dtype, int(np.count_nonzero(mask.array)))

    for dtype, bits in BITS.items():
        add(f"looks {dtype} up", *masked(dtype, 5, 7), sample("fp16", 1, 1, 1 << bits, 1))
    for kind in ("fp32", "int8", "uint8"):
        add(f"looks indices up in {kind}", *masked("uint4", 3, 6), sample(kind, 1, 1, 16, 1))
    add("looks indices up in groups", *masked("uint2", 4, 6), sample("fp16", 2, 3, 4, 1))
    for axis in (0, 1, 2, -2):
        add(f"looks vectors up along axis {axis}", *masked("uint2", 2, 3, 4), sample("fp16", 1, 1, 1, 4, 3), axis)
    add("looks vectors up in groups", *masked("uint1", 4, 6), sample("fp16", 2, 3, 2, 2), 0)
    add("looks nothing up", tensor("uint1", np.zeros((2, 3))), tensor("uint2", []), sample("fp16", 1, 1, 4, 1))

    inputs = {"indices_mask": tensor("uint1", [[1, 0], [0, 1]]), "indices_nonzero_data": tensor("uint2", [3, 1]), "lut": sample("fp16", 1, 1, 4, 1)}
    cases.fail("refuses a lut of another rank (c1)", {**inputs, "lut": sample("fp16", 1, 4, 1)}, f"{op}_c1")
    cases.fail("refuses groups that do not divide the mask (c2)", {**inputs, "lut": sample("fp16", 3, 1, 4, 1)}, f"{op}_c2")
    cases.fail("refuses tables of 8 for 2-bit indices (c3)", {**inputs, "lut": sample("fp16", 1, 1, 8, 1)}, f"{op}_c3")
    cases.fail("refuses vectors without an axis (c4)", {**inputs, "lut": sample("fp16", 1, 1, 4, 2)}, f"{op}_c4")
    cases.fail("refuses too few indices (c5)", {**inputs, "indices_nonzero_data": tensor("uint2", [3])}, f"{op}_c5")
    cases.fail("refuses too many indices (c5)", {**inputs, "indices_nonzero_data": tensor("uint2", [3, 1, 0])}, f"{op}_c5")
    cases.fail("refuses indices of rank 2 (c5)", {**inputs, "indices_nonzero_data": tensor("uint2", [[3, 1]])}, f"{op}_c5")
    cases.fail("refuses vectors that overflow (c5)", {"indices_mask": type_only("uint1", [1]), "indices_nonzero_data": type_only("uint1", [2**40]),
                "lut": type_only("fp16", [1, 2, 2]), "vector_axis": int32(0)}, f"{op}_c5")
    cases.fail("refuses more elements than a machine holds (c6)", {**inputs, "indices_mask": type_only("uint1", [2**21, 2**21])}, f"{op}_c6")
    cases.fail("exists from iOS18 on", inputs, "exists from ios18 on", opset="ios17")
    cases.write()


def make_sparse_blockwise_shift_scale():
    op = "constexpr_sparse_blockwise_shift_scale"
    cases = Cases(op)

    def add(name, dtype, shape, scale, has_offset=False, mask=None):
        mask = tensor("uint1", RANDOM.integers(0, 2, shape) if mask is None else mask)
        nonzero = sample(dtype, int(np.count_nonzero(mask.array)))
        offset = sample(dtype, *scale.array.shape) if has_offset else None
        full = np.zeros(shape, nonzero.array.dtype)
        full[mask.array != 0] = nonzero.array
        want = shift_scale(tensor(dtype, full), scale, offset).array[mask.array != 0]
        inputs = {"data_mask": mask, "nonzero_data": nonzero, "scale": scale}
        if has_offset:
            inputs["offset"] = offset
        cases.add(name, inputs, [mask, tensor(scale.dtype, want)])

    for dtype in tuple(LIMITS) + tuple(FLOATS):
        add(f"scales {dtype}", dtype, (4, 7), sample("fp16", 4, 1))
        add(f"scales and shifts {dtype}", dtype, (4, 7), sample("fp32", 4, 1), has_offset=True)
    for shape, blocks in (((12,), (3,)), ((4, 6), (2, 3)), ((2, 3, 4), (1, 3, 2)), ((8, 6, 1, 1), (8, 2, 1, 1))):
        add(f"cuts {list(shape)} into blocks {list(blocks)}", "int4", shape, sample("fp16", *blocks), has_offset=True)
    add("scales every element", "int8", (3, 3), sample("fp16", 3, 1), mask=np.ones((3, 3)))
    add("scales nothing", "int8", (3, 3), sample("fp16", 3, 1), mask=np.zeros((3, 3)))

    inputs = {"data_mask": tensor("uint1", [[1, 0], [0, 1]]), "nonzero_data": tensor("int8", [3, 1]), "scale": fp16([[1], [2]])}
    cases.fail("refuses scales of another rank (c1)", {**inputs, "scale": fp16([1])}, f"{op}_c1")
    cases.fail("refuses scales that do not divide the mask (c2)", {**inputs, "scale": fp16(np.ones((1, 3)))}, f"{op}_c2")
    cases.fail("refuses offsets of another shape (c3)", {**inputs, "offset": tensor("int8", [[0]])}, f"{op}_c3")
    cases.fail("refuses offsets of another integer dtype (c4)", {**inputs, "offset": tensor("uint8", [[0], [0]])}, f"{op}_c4")
    cases.fail("refuses too few elements (c5)", {**inputs, "nonzero_data": tensor("int8", [3])}, f"{op}_c5")
    cases.fail("refuses too many elements (c5)", {**inputs, "nonzero_data": tensor("int8", [3, 1, 1])}, f"{op}_c5")
    cases.fail("refuses elements of rank 2 (c5)", {**inputs, "nonzero_data": tensor("int8", [[3, 1]])}, f"{op}_c5")
    cases.fail("refuses more elements than a machine holds (c6)", {**inputs, "data_mask": type_only("uint1", [2**21, 2**21]), "scale": fp16([[1]])}, f"{op}_c6")
    cases.fail("exists from iOS18 on", inputs, "exists from ios18 on", opset="ios17")
    cases.write()


for make in (make_affine_dequantize, make_blockwise_shift_scale, make_cast, make_lut_to_dense, make_lut_to_sparse,
             make_sparse_blockwise_shift_scale, make_sparse_to_dense):
    make()

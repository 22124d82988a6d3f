# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny ONNX bundle in the form of ONNX Runtime GenAI's builder, and its weights as they are meant.
Needs onnx, numpy and safetensors. Run: python3 tests/checkpoint/make_onnx.py"""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors.numpy import save_file

HERE = Path(__file__).resolve().parent
RANDOM = np.random.default_rng(5)
HIDDEN, HEADS, KV, DIM, INNER, VOCAB, POSITIONS, THETA = 32, 2, 1, 16, 48, 40, 32, 5000.0
initializers, nodes, meant = [], [], {}


def constant(name, array, raw=True):
    array = np.ascontiguousarray(array)
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    values = array.tobytes() if raw else array.flatten().tolist()
    initializers.append(helper.make_tensor(name, dtype, array.shape, values, raw=raw))
    return name


def quantized(name, rows, columns, bits, block, zero_points):
    """Constants of MatMulNBits, and the matrix that they mean."""
    blocks = -(-columns // block)
    quants = RANDOM.integers(0, 1 << bits, (rows, blocks * block), dtype=np.uint8)
    scales = RANDOM.uniform(0.01, 0.1, (rows, blocks)).astype(np.float16)
    zeros = RANDOM.integers(0, 1 << bits, (rows, blocks), dtype=np.uint8) if zero_points else None
    per_byte = 8 // bits

    def pack(array):
        return sum(array[..., i::per_byte] << bits * i for i in range(per_byte)).astype(np.uint8)

    inputs = [constant(f"{name}.q", pack(quants).reshape(rows, blocks, block * bits // 8)), constant(f"{name}.s", scales)]
    if zero_points:
        padded = np.pad(zeros, ((0, 0), (0, -blocks % per_byte)))
        inputs.append(constant(f"{name}.z", pack(padded)))
    shift = zeros.astype(np.float32) if zero_points else np.full((rows, blocks), 1 << (bits - 1), np.float32)
    values = (quants.reshape(rows, blocks, block).astype(np.float32) - shift[..., None]) * scales.astype(np.float32)[..., None]
    return inputs, values.reshape(rows, -1)[:, :columns]


def project(x, name, matrices, bits=4, block=16, zero_points=False):
    """y = matrix * x; `matrices`: (name of the part, rows)."""
    rows = sum(count for _, count in matrices)
    columns = {"down": INNER, "o": HEADS * DIM}.get(name.split(".")[-1], HIDDEN)
    inputs, values = quantized(name, rows, columns, bits, block, zero_points)
    first = 0
    for part, count in matrices:
        meant[part] = values[first:first + count]
        first += count
    attributes = {"K": columns, "N": rows, "bits": bits, "block_size": block}
    nodes.append(helper.make_node("MatMulNBits", [x, *inputs], [f"{name}.y"], name=name, domain="com.microsoft", **attributes))
    return f"{name}.y"


def weight(name, size):
    values = RANDOM.normal(1, 0.2, size).astype(np.float32)
    meant[name] = values
    return constant(name, values, raw=False)


def head_norm(value, name):
    nodes.append(helper.make_node("Reshape", [value, "heads"], [f"{name}.r"], name=f"{name}.r"))
    nodes.append(helper.make_node("SimplifiedLayerNormalization", [f"{name}.r", weight(f"{name}.weight", DIM)], [f"{name}.n"],
                                  name=name, axis=-1, epsilon=1e-5))
    nodes.append(helper.make_node("Reshape", [f"{name}.n", "flat"], [f"{name}.f"], name=f"{name}.f"))
    return f"{name}.f"


def layer(i, hidden, pending):
    at = f"model.layers.{i}."
    gamma = weight(at + "input_layernorm.weight", HIDDEN)
    if pending is None:
        nodes.append(helper.make_node("SimplifiedLayerNormalization", [hidden, gamma], [at + "n"], name=at + "n", axis=-1, epsilon=1e-5))
        total = hidden
    else:
        total = at + "h"
        nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [hidden, pending, gamma], [at + "n", "", "", total],
                                      name=at + "n", domain="com.microsoft", epsilon=1e-5))
    parts = [("q", HEADS * DIM), ("k", KV * DIM), ("v", KV * DIM)]
    if i == 0:  # packed, and split; with zero points
        packed = project(at + "n", at + "qkv", [(f"{at}self_attn.{n}_proj.weight", rows) for n, rows in parts], zero_points=True)
        constant("sizes", np.array([rows for _, rows in parts], np.int64))
        q, k, v = (f"{at}{n}.y" for n, _ in parts)
        nodes.append(helper.make_node("Split", [packed, "sizes"], [q, k, v], name=at + "split", axis=-1))
    else:  # each by itself, 8 bits
        q, k, v = (project(at + "n", at + n, [(f"{at}self_attn.{n}_proj.weight", rows)], bits=8, block=32) for n, rows in parts)
    q, k = head_norm(q, at + "self_attn.q_norm"), head_norm(k, at + "self_attn.k_norm")
    past = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
    tables = ["cos", "sin"]
    if i == 1:  # rotated before the attention
        for value, name in ((q, at + "q_rotary"), (k, at + "k_rotary")):
            nodes.append(helper.make_node("RotaryEmbedding", [value, "position_ids", *tables], [name], name=name, domain="com.microsoft",
                                          interleaved=0, num_heads=0, rotary_embedding_dim=0))
        q, k = at + "q_rotary", at + "k_rotary"
    nodes.append(helper.make_node("GroupQueryAttention", [q, k, v, *past, "seqlens_k", "total"] + (tables if i == 0 else []),
                                  [at + "a", f"present.{i}.key", f"present.{i}.value"], name=at + "a", domain="com.microsoft",
                                  num_heads=HEADS, kv_num_heads=KV, do_rotary=1 - i))
    o = project(at + "a", at + "o", [(at + "self_attn.o_proj.weight", HIDDEN)])
    post = weight(at + "post_attention_layernorm.weight", HIDDEN)
    nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [total, o, post], [at + "m", "", "", at + "h1"], name=at + "m",
                                  domain="com.microsoft", epsilon=1e-5))
    bits = 4 if i == 0 else 2
    gate = project(at + "m", at + "gate", [(at + "mlp.gate_proj.weight", INNER)], bits=bits, zero_points=i == 1)
    up = project(at + "m", at + "up", [(at + "mlp.up_proj.weight", INNER)], bits=bits)
    nodes.append(helper.make_node("Sigmoid", [gate], [at + "s"], name=at + "s"))
    nodes.append(helper.make_node("Mul", [gate, at + "s"], [at + "silu"], name=at + "silu"))
    nodes.append(helper.make_node("Mul", [at + "silu", up], [at + "g"], name=at + "g"))
    down = project(at + "g", at + "down", [(at + "mlp.down_proj.weight", HIDDEN)], block=32)  # a last block of 16
    return at + "h1", down


def named_bundle(folder):
    """A graph of one node that nobody knows, whose constants have the names of transformers."""
    initializers.clear()
    nodes.clear()
    meant.clear()

    def blocks(name, rows, columns, bits, block, backbone, parts=()):
        """`parts`: (name, rows) of the matrices that it holds one after the other."""
        (data, scales), values = quantized(name, rows, columns, bits, block, False)
        first = 0
        for part, count in parts or [(name, rows)]:
            meant[f"{part}.weight"] = values[first : first + count]
            first += count
        infix = ".matmul" if backbone else ""
        for initializer, new in ((data, f"{name}{infix}{'.backbone' if backbone else ''}.weight_quantized"),
                                 (scales, f"{name}{infix}.quantizers.weight.scale_for_export")):
            next(i for i in initializers if i.name == initializer).name = new

    def floats(name, shape):
        meant[name] = RANDOM.normal(0, 0.1, shape).astype(np.float16).astype(np.float32)
        constant(name, meant[name].astype(np.float16))

    angles = np.arange(POSITIONS)[:, None] * THETA ** (-np.arange(DIM // 2) / (DIM // 2))
    for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
        constant(f"model.layers.0.self_attn.{name}_cached_export", table.astype(np.float32))
    floats("model.embed_tokens.weight", (VOCAB, HIDDEN))
    weight("model.norm.weight", HIDDEN)
    for i in range(2):
        at = f"model.layers.{i}."
        for norm, size in (("input_layernorm", HIDDEN), ("post_attention_layernorm", HIDDEN), ("self_attn.q_norm", DIM),
                           ("self_attn.k_norm", DIM)):
            weight(f"{at}{norm}.weight", size)
        qkv = [(at + f"self_attn.{name}_proj", rows) for name, rows in (("q", HEADS * DIM), ("k", KV * DIM), ("v", KV * DIM))]
        if i == 0:  # together, as Phi-3 has them
            blocks(at + "self_attn.qkv_proj", (HEADS + 2 * KV) * DIM, HIDDEN, 4, 16, True, qkv)
            blocks(at + "mlp.gate_up_proj", 2 * INNER, HIDDEN, 2, 32, True, [(at + "mlp.gate_proj", INNER), (at + "mlp.up_proj", INNER)])
        else:
            blocks(*qkv[0], HIDDEN, 4, 16, True)
            blocks(*qkv[1], HIDDEN, 8, 16, True)
            blocks(*qkv[2], HIDDEN, 4, 16, False)
            blocks(at + "mlp.gate_proj", INNER, HIDDEN, 4, 16, True)
            blocks(at + "mlp.up_proj", INNER, HIDDEN, 8, 32, True)
        floats(at + "self_attn.o_proj.weight", (HIDDEN, HEADS * DIM))
        blocks(at + "mlp.down_proj", HIDDEN, INNER, 4, 32, True)  # a last block of 16
    nodes.append(helper.make_node("WholeModel", ["input_ids", "model.norm.weight"], ["logits"], name="whole", domain="elsewhere"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "named", [value("input_ids", TensorProto.INT64, None)], [value("logits", TensorProto.FLOAT, None)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("elsewhere", 1)])
    model.producer_name = ""
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    save_file({name: np.ascontiguousarray(values) for name, values in meant.items()}, folder / "meant.safetensors")
    decoder = {"filename": "model.onnx", "hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": HEADS,
               "num_key_value_heads": KV, "head_size": DIM}
    config = {"model": {"bos_token_id": 1, "eos_token_id": 2, "context_length": POSITIONS, "type": "tiny", "decoder": decoder}}
    (folder / "genai_config.json").write_text(json.dumps(config, indent=1) + "\n")


def main():
    angles = np.arange(POSITIONS)[:, None] * THETA ** (-np.arange(DIM // 2) / (DIM // 2))
    constant("cos", np.cos(angles).astype(np.float32))
    constant("sin", np.sin(angles).astype(np.float32))
    constant("heads", np.array([0, -1, DIM], np.int64), raw=False)
    constant("flat", np.array([0, -1, HEADS * DIM], np.int64))
    (data, scales), values = quantized("embed", VOCAB, HIDDEN, 4, 16, False)
    meant["model.embed_tokens.weight"] = values
    initializers[-2].dims[:] = [VOCAB, HIDDEN // 2]
    nodes.append(helper.make_node("GatherBlockQuantized", [data, "input_ids", scales], ["e"], name="embed", domain="com.microsoft", bits=4,
                                  block_size=16, gather_axis=0, quantize_axis=1))
    hidden, pending = "e", None
    for i in range(2):
        hidden, pending = layer(i, hidden, pending)
    nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [hidden, pending, weight("model.norm.weight", HIDDEN)], ["last"],
                                  name="last", domain="com.microsoft", epsilon=1e-5))
    head = RANDOM.normal(0, 0.1, (VOCAB, HIDDEN)).astype(np.float16)
    meant["lm_head.weight"] = head.astype(np.float32)
    nodes.append(helper.make_node("MatMul", ["last", constant("head", head.T)], ["logits"], name="head"))
    names = ["input_ids", "position_ids", "seqlens_k", "total"] + [f"past_key_values.{i}.{n}" for i in range(2) for n in ("key", "value")]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, None) for name in names]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)]
    model = helper.make_model(helper.make_graph(nodes, "tiny", inputs, outputs, initializers),
                              opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    model.producer_name = ""
    (HERE.parents[1] / "fuzz/corpus/onnx/tiny.onnx").write_bytes(model.SerializeToString(deterministic=True))
    folder = HERE / "data/onnx"
    (folder / "model.onnx.data").unlink(missing_ok=True)
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=True, location="model.onnx.data", size_threshold=600)
    save_file({name: np.ascontiguousarray(values) for name, values in meant.items()}, folder / "meant.safetensors")
    decoder = {"filename": "model.onnx", "hidden_size": HIDDEN}
    config = {"model": {"bos_token_id": 1, "eos_token_id": [2, 3], "context_length": POSITIONS, "type": "tiny", "decoder": decoder},
              "search": {"do_sample": True, "temperature": 0.7, "top_k": 20}}
    (folder / "genai_config.json").write_text(json.dumps(config, indent=1) + "\n")
    named_bundle(HERE / "data/onnx-named")


if __name__ == "__main__":
    main()

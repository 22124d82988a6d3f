# SPDX-License-Identifier: Apache-2.0
"""Writes the file formats that anemone reads, right or wrong ones: safetensors and GGUF."""

import json
import struct

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def safetensors(tensors, metadata=None):
    """{name: (dtype, shape, bytes)}"""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    return with_header(json.dumps(header), data)


def with_header(text, data=b"", length=None):
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def split_safetensors(raw):
    """(header, data)"""
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def floats(values, dtype="F32"):
    return b"".join(struct.pack({"F32": "<f", "F16": "<e", "F64": "<d"}[dtype], value) for value in values)


def ints(values, dtype="I32"):
    return b"".join(
        struct.pack({"I32": "<i", "I64": "<q", "I16": "<h", "I8": "<b", "U8": "<B"}[dtype], value) for value in values
    )


class Gguf:
    """Values and tensors in the order of the calls."""

    def __init__(self, version=3):
        self.version, self.values, self.value_count = version, bytearray(), 0
        self.tensors, self.tensor_count, self.data = bytearray(), 0, bytearray()

    @staticmethod
    def text_bytes(text):
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        return struct.pack("<Q", len(raw)) + raw

    def raw(self, key, kind, content):
        self.values += self.text_bytes(key) + struct.pack("<I", kind) + content
        self.value_count += 1
        return self

    def text(self, key, value):
        return self.raw(key, 8, self.text_bytes(value))

    def u32(self, key, value):
        return self.raw(key, 4, struct.pack("<I", value))

    def f32(self, key, value):
        return self.raw(key, 6, struct.pack("<f", value))

    def texts(self, key, values):
        return self.raw(key, 9, struct.pack("<IQ", 8, len(values)) + b"".join(map(self.text_bytes, values)))

    def i32s(self, key, values):
        return self.raw(key, 9, struct.pack("<IQ", 5, len(values)) + b"".join(struct.pack("<i", v) for v in values))

    def tensor(self, name, shape, kind, content, offset=None):
        """`shape` outermost first."""
        self.data += b"\0" * (-len(self.data) % 32)
        at = len(self.data) if offset is None else offset
        self.tensors += (
            self.text_bytes(name)
            + struct.pack("<I", len(shape))
            + b"".join(struct.pack("<Q", d) for d in reversed(shape))
            + struct.pack("<IQ", kind, at)
        )
        self.tensor_count += 1
        self.data += content
        return self

    def bytes(self, tensor_count=None, value_count=None):
        out = (
            b"GGUF"
            + struct.pack(
                "<IQQ",
                self.version,
                self.tensor_count if tensor_count is None else tensor_count,
                self.value_count if value_count is None else value_count,
            )
            + self.values
            + self.tensors
        )
        return bytes(out + b"\0" * (-len(out) % 32) + self.data)


def tiny_gguf(skip=(), more=None):
    """A Llama of one layer that compiles; keys in `skip` are left out."""
    out = Gguf()

    def unless_skipped(write, key, value):
        if key not in skip:
            write(key, value)

    unless_skipped(out.text, "general.architecture", "llama")
    for key, value in (
        ("context_length", 64),
        ("embedding_length", 32),
        ("block_count", 1),
        ("feed_forward_length", 64),
        ("attention.head_count", 2),
        ("attention.head_count_kv", 1),
        ("rope.dimension_count", 16),
    ):
        unless_skipped(out.u32, "llama." + key, value)
    unless_skipped(out.f32, "llama.attention.layer_norm_rms_epsilon", 1e-5)
    unless_skipped(out.f32, "llama.rope.freq_base", 10000.0)
    unless_skipped(out.text, "tokenizer.ggml.model", "gpt2")
    unless_skipped(out.text, "tokenizer.ggml.pre", "qwen2")
    unless_skipped(out.texts, "tokenizer.ggml.tokens", ["a", "b", "ab", "<end>"])
    unless_skipped(out.i32s, "tokenizer.ggml.token_type", [1, 1, 1, 3])
    unless_skipped(out.texts, "tokenizer.ggml.merges", ["a b"])
    unless_skipped(out.u32, "tokenizer.ggml.eos_token_id", 3)
    unless_skipped(out.text, "tokenizer.chat_template", "{{ messages[0].content }}")
    if more:
        more(out)

    def small(count):
        return floats([((i * 7) % 11 - 5) * 0.05 for i in range(count)])

    ones = floats([1.0] * 32)
    for name, shape in (
        ("token_embd", [4, 32]),
        ("blk.0.attn_q", [32, 32]),
        ("blk.0.attn_k", [16, 32]),
        ("blk.0.attn_v", [16, 32]),
        ("blk.0.attn_output", [32, 32]),
        ("blk.0.ffn_gate", [64, 32]),
        ("blk.0.ffn_up", [64, 32]),
        ("blk.0.ffn_down", [32, 64]),
    ):
        unless_skipped(
            lambda key, value: out.tensor(key, value, 0, small(value[0] * value[1])), name + ".weight", shape
        )
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        unless_skipped(lambda key, value: out.tensor(key, value, 0, ones), name + ".weight", [32])
    return out

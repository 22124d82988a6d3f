# SPDX-License-Identifier: Apache-2.0
"""Writes small Core ML packages: the protobuf of an ML program, by hand.

A package is a folder with a Manifest.json and a model; weights stay inside the model, which small ones may. What the
field numbers mean is in src/mlpackage/proto.
"""

import json
import os
import struct

CODES = {
    "bool": 1,
    "string": 2,
    "fp16": 10,
    "fp32": 11,
    "int8": 21,
    "int16": 22,
    "int32": 23,
    "uint8": 31,
    "uint16": 32,
}
ARRAYS = {"fp16": 0x10010, "fp32": 0x10020, "int32": 0x20020}
SAFETENSORS = {
    "fp16": "F16",
    "fp32": "F32",
    "int32": "I32",
    "int8": "I8",
    "int16": "I16",
    "uint8": "U8",
    "bool": "BOOL",
}
OPSETS = {15: ("CoreML5", 6), 16: ("CoreML6", 7), 17: ("CoreML7", 8), 18: ("CoreML8", 9)}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def entry(field, key, content):
    return part(field, part(1, key) + part(2, content))


def type_of(dtype, shape):
    """A ValueType; None stands for a size that is not known."""
    dims = b"".join(part(3, part(2, number(1, 0)) if dim is None else part(1, number(1, dim))) for dim in shape)
    return part(1, number(1, CODES[dtype]) + number(2, len(shape)) + dims)


def list_of(dtype, shape):
    """The type of a list whose length is not known."""
    return part(2, part(1, type_of(dtype, shape)) + part(2, part(2, number(1, 0))))


def value_of(dtype, shape, values):
    """An immediate tensor."""
    if dtype == "fp32":
        content = part(1, part(1, b"".join(struct.pack("<f", v) for v in values)))
    elif dtype == "fp16":
        content = part(7, part(1, b"".join(struct.pack("<e", v) for v in values)))
    elif dtype == "bool":
        content = part(3, part(1, b"".join(varint(int(v)) for v in values)))
    elif dtype == "string":
        content = part(4, b"".join(part(1, v) for v in values))
    elif dtype == "int32":
        content = part(2, part(1, b"".join(varint(v) for v in values)))
    else:
        size = {"int8": "<b", "uint8": "<B", "int16": "<h", "uint16": "<H"}[dtype]
        content = part(7, part(1, b"".join(struct.pack(size, v) for v in values)))
    return part(2, type_of(dtype, shape)) + part(3, part(1, content))


class Program:
    """One function, `main`."""

    def __init__(self, ios=17):
        self.opset, self.version = OPSETS[ios]
        self.inputs, self.operations, self.outputs = [], [], []

    def input(self, name, dtype, shape):
        self.inputs.append((name, dtype, shape))
        return name

    def const(self, name, dtype, shape, values):
        attributes = entry(5, "name", value_of("string", [], [name])) + entry(5, "val", value_of(dtype, shape, values))
        self.operations.append(part(1, "const") + part(3, part(1, name) + part(2, type_of(dtype, shape))) + attributes)
        return name

    def op(self, kind, inputs, *outputs):
        """`inputs`: {parameter: name, or a list of names}; `outputs`: (name, dtype, shape), or (name, type)."""
        arguments = b""
        for parameter, names in inputs.items():
            names = [names] if isinstance(names, str) else names
            arguments += entry(2, parameter, b"".join(part(1, part(1, name)) for name in names))
        types = b"".join(
            part(3, part(1, each[0]) + part(2, each[1] if len(each) == 2 else type_of(*each[1:]))) for each in outputs
        )
        label = entry(5, "name", value_of("string", [], [outputs[0][0] + "_op"]))
        self.operations.append(part(1, kind) + arguments + types + label)
        return outputs[0][0]

    def output(self, name, dtype, shape):
        self.outputs.append((name, dtype, shape))

    def feature(self, name, dtype, shape, is_output):
        is_open = any(dim is None for dim in shape)
        default = [] if is_output else [1 if dim is None else dim for dim in shape]
        array = b"".join(number(1, dim) for dim in default) + number(2, ARRAYS[dtype])
        if is_open and not is_output:
            ranges = b"".join(
                part(1, number(1, 1 if dim is None else dim) + number(2, -1 if dim is None else dim)) for dim in shape
            )
            array += part(31, ranges)
        return part(1, name) + part(3, part(5, array))

    def model(self):
        block = b"".join(part(2, name) for name, _, _ in self.outputs) + b"".join(part(3, op) for op in self.operations)
        function = b"".join(
            part(1, part(1, name) + part(2, type_of(dtype, shape))) for name, dtype, shape in self.inputs
        )
        function += part(2, self.opset) + entry(3, self.opset, block)
        program = number(1, 1) + entry(2, "main", function)
        description = b"".join(part(1, self.feature(*each, False)) for each in self.inputs)
        description += b"".join(part(10, self.feature(*each, True)) for each in self.outputs)
        return number(1, self.version) + part(2, description) + part(502, program)

    def write(self, folder):
        write_package(folder, self.model())
        return folder


def write_package(folder, model, manifest=None):
    data = os.path.join(folder, "Data", "com.apple.CoreML")
    os.makedirs(data, exist_ok=True)
    identifier = "00000000-0000-8000-8000-000000000000"
    item = {
        "author": "com.apple.CoreML",
        "description": "CoreML Model Specification",
        "name": "model.mlmodel",
        "path": "com.apple.CoreML/model.mlmodel",
    }
    text = manifest or json.dumps(
        {"fileFormatVersion": "1.0.0", "itemInfoEntries": {identifier: item}, "rootModelIdentifier": identifier}
    )
    with open(os.path.join(folder, "Manifest.json"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(data, "model.mlmodel"), "wb") as file:
        file.write(model)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of random bf16 weights in the shape that a config.json says, to measure what real models take.

usage: random_checkpoint.py CONFIG_FOLDER OUT_FOLDER

The names and shapes are those of the class in transformers; memory stays within one tensor. Needs torch, transformers
and safetensors (the environment of tools/ci/interop has them).
"""
import argparse
import json
import pathlib
import shutil
import struct

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification

SHARD_BYTES = 4_000_000_000


def tensors_of(folder):
    """(name, shape) in the order of the class; tied weights once."""
    config = AutoConfig.from_pretrained(folder)
    classifies = any(name.endswith("ForTokenClassification") for name in config.architectures or [])
    kind = AutoModelForTokenClassification if classifies else AutoModelForCausalLM
    with torch.device("meta"):
        model = kind.from_config(config, dtype=torch.bfloat16)
    saved = model.state_dict()
    tensors = dict(model.named_parameters(remove_duplicate=True)) | {k: v for k, v in model.named_buffers() if k in saved}
    return [(name, tuple(value.shape)) for name, value in tensors.items()]


def random_bf16(random, shape):
    """Normal values about as large as trained ones, as the upper halves of floats; norms near 1."""
    values = random.standard_normal(shape, dtype=np.float32)
    values = values * 0.02 if len(shape) > 1 else 1 + values * 0.02
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def write_shard(path, tensors, random):
    header, offset = {}, 0
    for name, shape in tensors:
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors:
            out.write(random_bf16(random, shape).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    shutil.copy(arguments.config / "config.json", arguments.out)

    shards, size = [[]], 0
    for name, shape in tensors_of(arguments.config):
        bytes_of = 2 * int(np.prod(shape))
        if shards[-1] and size + bytes_of > SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += bytes_of

    random = np.random.default_rng(1)
    places = {}
    for i, tensors in enumerate(shards):
        name = f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        write_shard(arguments.out / name, tensors, random)
        places |= {tensor: name for tensor, _ in tensors}
    index = {"metadata": {}, "weight_map": places}
    (arguments.out / "model.safetensors.index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main()

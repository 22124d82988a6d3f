#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/rope_cases.json: inverse frequencies and attention factors as transformers computes them.

Run with the interop environment (tools/ci/requirements-interop.txt):  python make_rope_cases.py
"""
import json
import os

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

BASE = dict(hidden_size=64, num_attention_heads=4, head_dim=32, max_position_embeddings=1024)
CASES = {
    "theta alone": dict(rope_theta=5000.0),
    "nothing at all": {},
    "transformers 5 dialect": dict(rope_parameters=dict(rope_theta=900.0, rope_type="default")),
    "linear, old spelling of type": dict(rope_theta=10000.0, rope_scaling=dict(type="linear", factor=4.0)),
    "dynamic": dict(rope_theta=10000.0, rope_scaling=dict(rope_type="dynamic", factor=3.0)),
    "llama3": dict(rope_theta=5000.0, rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                        original_max_position_embeddings=32)),
    "llama3 in the new dialect": dict(rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0,
                                                            high_freq_factor=4.0, original_max_position_embeddings=256)),
    "yarn": dict(rope_theta=1000000.0, rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=256)),
    "yarn without truncation": dict(rope_theta=150000.0, rope_scaling=dict(rope_type="yarn", factor=8.0, beta_fast=16.0, beta_slow=2.0,
                                                                            truncate=False, original_max_position_embeddings=128)),
    "yarn with mscale": dict(rope_theta=10000.0, rope_scaling=dict(rope_type="yarn", factor=40.0, mscale=1.0, mscale_all_dim=0.7,
                                                                    original_max_position_embeddings=64)),
    "yarn with attention factor": dict(rope_theta=10000.0, rope_scaling=dict(rope_type="yarn", factor=2.0, attention_factor=1.25,
                                                                              original_max_position_embeddings=512)),
    "longrope": dict(rope_theta=10000.0, original_max_position_embeddings=64,
                     rope_scaling=dict(type="longrope", short_factor=[1 + 0.05 * i for i in range(16)], long_factor=[1.0 + i for i in range(16)])),
    "longrope with factors": dict(rope_theta=700.0, original_max_position_embeddings=64,
                                  rope_scaling=dict(rope_type="longrope", factor=32.0, attention_factor=1.25, short_factor=[1.0] * 16,
                                                    long_factor=[2.0] * 16)),
    "yarn without original length": dict(rope_theta=10000.0, rope_scaling=dict(rope_type="yarn", factor=2.0)),
}


def main():
    out = []
    for name, keys in CASES.items():
        config = {**BASE, **keys}
        rope = LlamaRotaryEmbedding(LlamaConfig(**json.loads(json.dumps(config))))
        out.append(dict(name=name, config=dict(model_type="llama", **config), inv_freq=[float(x) for x in rope.inv_freq],
                        scale=float(rope.attention_scaling)))
        if rope.rope_type == "longrope":
            original = config["original_max_position_embeddings"]
            long_inv_freq, _ = ROPE_INIT_FUNCTIONS["longrope"](rope.config, None, seq_len=original + 1)
            out[-1].update(short_length=original, long_inv_freq=[float(x) for x in long_inv_freq])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "rope_cases.json")
    with open(path, "w") as f:
        json.dump(out, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()

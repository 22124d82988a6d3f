#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes data/gguf_blocks.safetensors: two blocks of random bytes of every quantized GGUF type and what gguf-py makes of them.

usage: make_gguf_blocks.py OUTPUT     (needs numpy, gguf 0.19 and safetensors)

"<TYPE>.raw" is uint8 [blocks, bytes], "<TYPE>.values" fp32 [blocks, values]. Random scales are any fp16 but infinite ones.
"""
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, quants
from safetensors.numpy import save_file

TYPES = ("Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ1_S IQ1_M IQ4_NL IQ4_XS "
         "TQ1_0 TQ2_0 MXFP4 NVFP4").split()
random = np.random.default_rng(6)
tensors = {}
for name in TYPES:
    kind = GGMLQuantizationType[name]
    _, size = GGML_QUANT_SIZES[kind]
    while True:
        raw = random.integers(0, 256, (2, size), dtype=np.uint8)
        values = quants.dequantize(raw, kind).astype(np.float32)
        if np.isfinite(values).all():
            break
    tensors[name + ".raw"] = raw
    tensors[name + ".values"] = values
save_file(tensors, sys.argv[1], metadata={"made_by": "make_gguf_blocks.py, gguf 0.19.0"})

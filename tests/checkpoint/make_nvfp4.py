# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny model in both forms of NVFP4 and the floats that they stand for: data/nvfp4/.

compressed-tensors packs the one and unpacks it again; what it gives in bf16 is compared with the floats. The other is
what ModelOpt exports (modelopt/torch/quantization/qtensor/nvfp4_tensor.py, 0.47.0), by its formulas.
Needs compressed-tensors (0.20.0), safetensors and torch. Run: python3 tests/checkpoint/make_nvfp4.py"""

import json
from pathlib import Path

import torch
from compressed_tensors.compressors.nvfp4 import NVFP4PackedCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme, QuantizationStrategy
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import save_file

DATA = Path(__file__).resolve().parent / "data/nvfp4"
GROUP = 16
HIDDEN, INNER, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 32, 48, 2, 1, 16, 40
LAYER = "model.layers.0."
MATRICES = {
    "self_attn.q_proj": (HEADS * HEAD_DIM, HIDDEN),
    "self_attn.k_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
    "self_attn.v_proj": (KV_HEADS * HEAD_DIM, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HEADS * HEAD_DIM),
    "mlp.gate_proj": (INNER, HIDDEN),
    "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}
CONFIG = {
    "model_type": "llama",
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": 1,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
WEIGHTS = QuantizationArgs(
    num_bits=4, type="float", strategy=QuantizationStrategy.TENSOR_GROUP, group_size=GROUP, symmetric=True
)
SCHEME = QuantizationScheme(targets=["Linear"], weights=WEIGHTS)


def compressed(name: str, weight: torch.Tensor) -> tuple[dict, torch.Tensor]:
    low, high = weight.amin(), weight.amax()
    global_scale = generate_gparam(low, high)
    groups = weight.reshape(weight.shape[0], -1, GROUP)
    scale, _ = calculate_qparams(groups.amin(-1), groups.amax(-1), WEIGHTS, global_scale=global_scale)
    state = {"weight": weight, "weight_scale": scale, "weight_global_scale": global_scale}
    packed = NVFP4PackedCompressor.compress(state, SCHEME)
    quants = unpack_fp4_from_uint8(packed["weight_packed"], *weight.shape, dtype=torch.float32)
    floats = dequantize(
        quants,
        packed["weight_scale"].float(),
        args=WEIGHTS,
        global_scale=packed["weight_global_scale"],
        dtype=torch.float32,
    )
    theirs = NVFP4PackedCompressor.decompress(packed, SCHEME)["weight"]
    assert theirs.dtype == torch.bfloat16 and torch.equal(floats.to(torch.bfloat16), theirs), name
    tensors = {f"{name}.{key}": packed[key] for key in ("weight_packed", "weight_scale", "weight_global_scale")}
    tensors[f"{name}.weight_global_scale"] = packed["weight_global_scale"].reshape(1).float()
    tensors[f"{name}.input_global_scale"] = torch.tensor([100.0])
    return tensors, floats


def exported(name: str, weight: torch.Tensor) -> tuple[dict, torch.Tensor]:
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    scale_2 = weight.abs().amax().float() / (6.0 * 448.0)
    groups = weight.float().reshape(weight.shape[0], -1, GROUP)
    scale = (groups.abs().amax(-1) / (6.0 * scale_2)).clamp(2**-9, 448).to(torch.float8_e4m3fn)
    full = (scale.float() * scale_2).unsqueeze(-1)
    codes = (groups / full).unsqueeze(-1).sub(values).abs().argmin(-1).reshape(weight.shape).to(torch.uint8)
    floats = (values[codes.long()].reshape(groups.shape) * full).reshape(weight.shape)
    tensors = {
        f"{name}.weight": codes[:, 1::2] << 4 | codes[:, 0::2],
        f"{name}.weight_scale": scale,
        f"{name}.weight_scale_2": scale_2,
        f"{name}.input_scale": torch.tensor(0.01),
    }
    return tensors, floats


def main() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(22)
    plain = {
        "model.embed_tokens.weight": torch.randn(VOCAB, HIDDEN),
        "model.norm.weight": torch.rand(HIDDEN) + 0.5,
        "lm_head.weight": torch.randn(VOCAB, HIDDEN) / 4,
        LAYER + "input_layernorm.weight": torch.rand(HIDDEN) + 0.5,
        LAYER + "post_attention_layernorm.weight": torch.rand(HIDDEN) + 0.5,
    }
    plain = {name: tensor.to(torch.bfloat16) for name, tensor in plain.items()}
    matrices = {LAYER + name: (torch.randn(shape) / 8).to(torch.bfloat16) for name, shape in MATRICES.items()}
    config = {
        "quant_method": "compressed-tensors",
        "format": "nvfp4-pack-quantized",
        "quantization_status": "compressed",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": json.loads(WEIGHTS.model_dump_json())}},
    }
    for form, convert in (("compressed-tensors", compressed), ("modelopt", exported)):
        folder = DATA / form
        folder.mkdir(exist_ok=True)
        tensors, decoded = dict(plain), dict(plain)
        for name, weight in matrices.items():
            own, floats = convert(name, weight)
            tensors.update({key: tensor.contiguous() for key, tensor in own.items()})
            decoded[f"{name}.weight"] = floats
        save_file(tensors, folder / "model.safetensors")
        save_file(decoded, DATA / f"{form}-decoded.safetensors")
        extra = {"quantization_config": config} if form == "compressed-tensors" else {}
        (folder / "config.json").write_text(json.dumps(CONFIG | extra, indent=1) + "\n")
    told = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": GROUP, "exclude_modules": ["lm_head"]}
    (DATA / "modelopt/hf_quant_config.json").write_text(
        json.dumps({"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": told}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()

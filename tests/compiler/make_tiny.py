# SPDX-License-Identifier: Apache-2.0
"""Writes data/tiny/<model_type>/: a checkpoint of a few kB with random weights and what transformers says to it.

usage: python make_tiny.py [model_type ...]      (torch, transformers, safetensors)

golden.safetensors holds input_ids [20], logits [20, vocab] (fp32 arithmetic, bf16 weights), hidden.<i> (what enters
layer i; the last one is the output of the final norm) and greedy_ids [12], the greedy continuation. Where long texts are
rotated by other frequencies, input_ids_short, logits_short and greedy_ids_short are of a prompt that is still short.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification

TOKENS, SHORT_TOKENS, NEW_TOKENS = 20, 11, 12

# Odd widths on purpose. Windows are shorter than the prompt; yarn's original length too.
COMMON = dict(
    vocab_size=53, hidden_size=24, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=0, eos_token_id=1)
MODELS = {
    "qwen2": dict(use_sliding_window=True, sliding_window=6, max_window_layers=1, tie_word_embeddings=True,
                  rope_parameters={"rope_type": "default", "rope_theta": 500.0}),
    "llama": dict(tie_word_embeddings=False, attention_bias=True, mlp_bias=True, head_dim=10, hidden_act="gelu",
                  rope_parameters={"rope_type": "llama3", "rope_theta": 800.0, "factor": 4.0, "low_freq_factor": 1.0,
                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 16}),
    "mistral": dict(sliding_window=7, tie_word_embeddings=False, head_dim=8,
                    rope_parameters={"rope_type": "default", "rope_theta": 900.0}),
    "qwen3": dict(head_dim=12, tie_word_embeddings=True, num_key_value_heads=1,
                  rope_parameters={"rope_type": "yarn", "rope_theta": 700.0, "factor": 4.0,
                                   "original_max_position_embeddings": 16}),
    "smollm3": dict(no_rope_layers=[1, 0, 1], tie_word_embeddings=True, num_key_value_heads=4, pad_token_id=2,
                    rope_parameters={"rope_type": "default", "rope_theta": 600.0}),
    "hunyuan_v1_dense": dict(head_dim=12, tie_word_embeddings=True, attention_bias=True, pad_token_id=2,
                             rope_parameters={"rope_type": "dynamic", "rope_theta": 100.0, "alpha": 30.0, "factor": 1.0}),
    "gemma3_text": dict(head_dim=10, intermediate_size=32, num_hidden_layers=4, query_pre_attn_scalar=13,
                        sliding_window=6, final_logit_softcapping=5.0, tie_word_embeddings=True, attention_bias=True, pad_token_id=2,
                        layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                        rope_parameters={"full_attention": {"rope_type": "linear", "rope_theta": 900.0, "factor": 2.0},
                                         "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}),
    # The last two layers attend to keys of layers 1 and 0; a full layer has fewer and wider heads, and values from its keys.
    "gemma4_text": dict(intermediate_size=32, num_hidden_layers=4, head_dim=6, global_head_dim=10, num_global_key_value_heads=1,
                        attention_k_eq_v=True, sliding_window=6, final_logit_softcapping=9.0, attention_bias=True, tie_word_embeddings=False,
                        pad_token_id=2, hidden_size_per_layer_input=5, vocab_size_per_layer_input=53, num_kv_shared_layers=2,
                        use_double_wide_mlp=True,
                        layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                        rope_parameters={"full_attention": {"rope_type": "proportional", "rope_theta": 900.0,
                                                            "partial_rotary_factor": 0.5},
                                         "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}),
    "gemma4_moe": dict(model_type="gemma4_text", intermediate_size=20, head_dim=6, global_head_dim=10, sliding_window=6, pad_token_id=2,
                       tie_word_embeddings=False, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=5, top_k_experts=2,
                       moe_intermediate_size=14, layer_types=["sliding_attention", "full_attention", "full_attention"],
                       rope_parameters={"full_attention": {"rope_type": "proportional", "rope_theta": 900.0, "partial_rotary_factor": 0.4},
                                        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}),
    "lfm2": dict(intermediate_size=50, block_multiple_of=8, block_ffn_dim_multiplier=1.2, num_hidden_layers=4,
                 norm_eps=1e-5, conv_L_cache=4, conv_bias=True, tie_word_embeddings=True, pad_token_id=2,
                 layer_types=["conv", "full_attention", "conv", "conv"],
                 rope_parameters={"rope_type": "default", "rope_theta": 300.0}),
    "lfm2_moe": dict(num_hidden_layers=3, moe_intermediate_size=14, num_dense_layers=1, num_experts=6, num_experts_per_tok=2,
                     routed_scaling_factor=1.3, norm_eps=1e-5, tie_word_embeddings=True, pad_token_id=2,
                     layer_types=["conv", "full_attention", "conv"], rope_parameters={"rope_type": "default", "rope_theta": 300.0}),
    "qwen3_moe": dict(moe_intermediate_size=18, num_experts=5, num_experts_per_tok=2, decoder_sparse_step=2, num_hidden_layers=4,
                      norm_topk_prob=False, tie_word_embeddings=False, head_dim=12, pad_token_id=2,
                      rope_parameters={"rope_type": "default", "rope_theta": 700.0}),
    # Its experts lie on the grid of MXFP4, so that both forms of the file are one model. Six query heads share each
    # key/value head, with which attention over caches computes in integers where the processor has them.
    "gpt_oss": dict(hidden_size=32, num_attention_heads=12, intermediate_size=64, head_dim=10, num_local_experts=5, num_experts_per_tok=2, sliding_window=6,
                    swiglu_limit=1.5, tie_word_embeddings=False, pad_token_id=2,
                    rope_parameters={"rope_type": "yarn", "rope_theta": 530.0, "factor": 4.0, "truncate": False,
                                     "original_max_position_embeddings": 16}),
    # Six labels; a band of three tokens to each side.
    "openai_privacy_filter": dict(hidden_size=32, intermediate_size=18, head_dim=10, num_local_experts=5, num_experts_per_tok=2,
                                  sliding_window=3, swiglu_limit=1.5, pad_token_id=2,
                                  id2label={i: label for i, label in enumerate(["O", "B-x", "I-x", "E-x", "S-x", "B-y"])},
                                  rope_parameters={"rope_type": "yarn", "rope_theta": 530.0, "factor": 4.0, "truncate": False,
                                                   "original_max_position_embeddings": 16}),
    # The whole of a head turns in the layer that slides, a half in the others.
    "zaya": dict(head_dim=8, moe_intermediate_size=14, num_experts=4, router_hidden_size=10, cca_time0=3, cca_time1=2, attention_bias=True,
                 sliding_window=6, tie_word_embeddings=False, pad_token_id=2, layer_types=["hybrid", "hybrid_sliding", "hybrid"],
                 rope_parameters={"hybrid": {"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5},
                                  "hybrid_sliding": {"rope_type": "default", "rope_theta": 100.0}}),
    # Two value heads for each key head; a dense layer between those with experts.
    "qwen3_next": dict(head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=5,
                       moe_intermediate_size=14, shared_expert_intermediate_size=18, num_experts=5, num_experts_per_tok=2,
                       attention_bias=True, tie_word_embeddings=False, pad_token_id=2,
                       layer_types=["linear_attention", "full_attention", "linear_attention"],
                       rope_parameters={"rope_type": "default", "rope_theta": 300.0}),
    "qwen3_5_text": dict(head_dim=12, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=14, linear_value_head_dim=10,
                         linear_conv_kernel_dim=3, tie_word_embeddings=False, pad_token_id=2, full_attention_interval=2,
                         rope_parameters={"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5,
                                          "mrope_section": [1, 1, 1], "mrope_interleaved": True}),
    "qwen3_fp8": dict(model_type="qwen3", head_dim=12, tie_word_embeddings=True,
                      rope_parameters={"rope_type": "default", "rope_theta": 700.0}),
    "granite": dict(embedding_multiplier=0.2, attention_multiplier=0.6, residual_multiplier=0.6, logits_scaling=1.7, tie_word_embeddings=True,
                    pad_token_id=2, mlp_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 400.0}),
    "olmo2": dict(tie_word_embeddings=False, attention_bias=True, pad_token_id=2, hidden_act="relu",
                  rope_parameters={"rope_type": "default", "rope_theta": 450.0}),
    # 12 of 16 dimensions rotate; the prompt is a long text.
    "phi3": dict(hidden_size=32, num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=True, pad_token_id=2,
                 original_max_position_embeddings=16, sliding_window=11,
                 rope_parameters={"rope_type": "longrope", "rope_theta": 700.0, "partial_rotary_factor": 0.75,
                                  "short_factor": [1.0, 1.1, 1.2, 1.3, 1.5, 1.7],
                                  "long_factor": [1.0, 1.5, 2.5, 3.5, 5.0, 8.0]}),
}

# Seeds of the checkpoints for which the usual seed leads to a tie of two tokens, to two experts that fp16 cannot tell
# apart, or to a query that finds next to nothing in the state of a delta net, which the norm after it makes large
# together with its rounding. States carry the noise of one token on to the next ones: of 85 seeds that were tried,
# qwen3_next and gpt_oss have those at which their active experts lead most clearly.
SEEDS = {"openai_privacy_filter": 6, "gemma4_text": 7, "gemma4_moe": 20, "zaya": 6, "qwen3_5_text": 6, "qwen3_fp8": 6, "qwen3_next": 40,
         "gpt_oss": 35}


FP8_BLOCK = (16, 20)  # cuts off the end of rows and of columns


def to_fp8(weight):
    """E4M3 [rows, columns], scales by blocks, and what they stand for."""
    counts = [-(-size // block) for size, block in zip(weight.shape, FP8_BLOCK)]
    wide = torch.zeros([count * block for count, block in zip(counts, FP8_BLOCK)])
    wide[:weight.shape[0], :weight.shape[1]] = weight
    blocks = wide.view(counts[0], FP8_BLOCK[0], counts[1], FP8_BLOCK[1])
    scales = blocks.abs().amax((1, 3), keepdim=True) / 448
    codes = (blocks / scales).to(torch.float8_e4m3fn)

    def cut(x):
        return x.reshape(wide.shape)[:weight.shape[0], :weight.shape[1]].contiguous()
    return cut(codes), scales[:, 0, :, 0].contiguous(), cut(codes.float() * scales)


FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def to_mxfp4(weight):
    """[experts, in, out] to blocks [experts, out, in / 32, 16], scales [experts, out, in / 32], and what they stand for."""
    groups = weight.transpose(1, 2).unflatten(2, (-1, 32))
    exponents = (groups.abs().amax(-1, keepdim=True) / 6).log2().ceil()
    scaled = groups / exponents.exp2()
    codes = (scaled.abs().unsqueeze(-1) - FP4).abs().argmin(-1)
    values = FP4[codes] * scaled.sign() * exponents.exp2()
    codes = (codes + 8 * (scaled < 0)).to(torch.uint8)
    return codes[..., ::2] + 16 * codes[..., 1::2], (exponents.squeeze(-1) + 127).to(torch.uint8), values.flatten(2).transpose(1, 2)


def is_fp8(name):
    return name.endswith("proj.weight")


def randomize(model, in_fp8):
    for name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape)
        if parameter.dim() == 1:
            # The norms of gemma3 and of the newer qwens add 1 on their own, but for the one after a delta net.
            adds_one = type(model).__name__.startswith(("Gemma3", "Qwen3Next", "Qwen3_5")) and "linear_attn.norm" not in name
            value = (0 if name.endswith("bias") or adds_one else 1) + 0.3 * draw
            if name.endswith("A_log"):
                value -= 1  # so that states last for some tokens
        elif "embed_tokens" in name or "lm_head" in name:
            value = 0.7 * draw
        else:
            value = 1.4 * draw / parameter.shape[1] ** 0.5
        parameter.data = value.to(torch.bfloat16).float()
        if model.config.model_type == "gpt_oss" and name.endswith(("gate_up_proj", "down_proj")):
            parameter.data = to_mxfp4(parameter.data)[2].contiguous()
        if in_fp8 and is_fp8(name):
            parameter.data = to_fp8(parameter.data)[2]
    # What counts in the choice of experts alone, which the classes fill with zeros; and what gemma4 multiplies a layer with.
    for name, buffer in model.named_buffers():
        if name.endswith("expert_bias"):
            buffer.copy_((0.2 * torch.randn(buffer.shape)).to(torch.bfloat16).float())
        elif name.endswith("balancing_biases"):
            buffer[:-1] = (-1 + 0.2 * torch.randn(buffer.numel() - 1)).to(torch.bfloat16).float()
        elif name.endswith("layer_scalar"):
            buffer.copy_((0.8 + 0.4 * torch.rand(1)).to(torch.bfloat16).float())


def refuse_ties_of_experts(model):
    """Fails when the last active expert hardly leads: rounding to fp16 would activate another."""
    def check(router, inputs, outputs):
        scores = outputs[0].sigmoid() + inputs[1] if len(inputs) > 1 else outputs[0]
        best = scores.topk(router.top_k + 1).values
        assert (best[:, -2] - best[:, -1]).min() > 0.001, "a tie of two experts: choose another seed"
    for module in model.modules():
        if type(module).__name__.endswith("TopKRouter"):
            module.register_forward_hook(check)


def greedily(model, ids):
    sequence = ids
    for _ in range(NEW_TOKENS):
        scores = model(sequence, use_cache=False).logits[0, -1]
        best = scores.topk(2).values
        assert best[0] - best[1] > 0.05, "a tie of two tokens: choose another seed"
        sequence = torch.cat([sequence, scores.argmax().view(1, 1)], 1)
    return sequence[0, ids.shape[1]:]


@torch.no_grad()
def make(name, options, folder):
    torch.manual_seed(SEEDS.get(name, 5))
    options = dict(options)
    config = AutoConfig.for_model(options.pop("model_type", name), **(COMMON | options))
    kind = AutoModelForTokenClassification if "id2label" in options else AutoModelForCausalLM
    model = kind.from_config(config, attn_implementation="eager", experts_implementation="eager").float().eval()
    randomize(model, name.endswith("_fp8"))
    ids = torch.randint(3, config.vocab_size, (1, TOKENS))
    refuse_ties_of_experts(model)
    result = model(ids, output_hidden_states=True)
    golden = {"input_ids": ids[0], "logits": result.logits[0]}
    if kind is AutoModelForCausalLM:
        golden["greedy_ids"] = greedily(model, ids)
    golden |= {f"hidden.{i}": state[0] for i, state in enumerate(result.hidden_states)}
    if "original_max_position_embeddings" in options:
        short = ids[:, :SHORT_TOKENS]
        golden |= {"input_ids_short": short[0], "logits_short": model(short).logits[0],
                   "greedy_ids_short": greedily(model, short)}

    if name.endswith("_fp8"):
        weights = weights_of(model)
        for tensor in filter(is_fp8, list(weights)):
            weights[tensor], weights[tensor + "_scale_inv"], _ = to_fp8(model.get_parameter(tensor))
        form = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": FP8_BLOCK}
        return save(model, config, golden, weights, {"quantization_config": form}, folder)
    save(model, config, golden, weights_of(model), {}, folder)
    if name == "gpt_oss":
        weights = weights_of(model)
        for tensor in [k for k in weights if k.endswith(("gate_up_proj", "down_proj"))]:
            weights[tensor + "_blocks"], weights[tensor + "_scales"], _ = to_mxfp4(weights.pop(tensor).float())
        save(model, config, golden, weights, {"quantization_config": {"quant_method": "mxfp4"}}, folder.with_name("gpt_oss_mxfp4"))
    print(name, "logits std", round(result.logits.std().item(), 2), golden.get("greedy_ids"))


def weights_of(model):
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    return {k: v.to(torch.bfloat16).contiguous() for k, v in model.state_dict().items() if k not in tied}


def save(model, config, golden, weights, more_keys, folder):
    folder.mkdir(parents=True, exist_ok=True)
    save_file({k: v.contiguous().clone() for k, v in golden.items()}, folder / "golden.safetensors")
    save_file({k: v.contiguous() for k, v in weights.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    saved = config.to_diff_dict() | {"architectures": [type(model).__name__], "dtype": "bfloat16"} | more_keys
    (folder / "config.json").write_text(json.dumps(saved, indent=1) + "\n")


for name, options in MODELS.items():
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    make(name, options, pathlib.Path(__file__).parent / "data" / "tiny" / name)

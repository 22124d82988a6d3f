# SPDX-License-Identifier: Apache-2.0
"""The configs that every run compares: one for each thing that a class reads, chosen by hand."""

from random_configs import Case

SLIDING, FULL, LINEAR = "sliding_attention", "full_attention", "linear_attention"
SIZES = {"vocab_size": 503, "hidden_size": 72, "intermediate_size": 100, "num_hidden_layers": 3, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "bos_token_id": None, "eos_token_id": None,
         "pad_token_id": None}


EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}


def config_of(model_type, **changes):
    """A small config; `None` as a change writes null, `...` leaves the key out."""
    config = {"model_type": model_type, **SIZES}
    if model_type in ("qwen3", "hunyuan_v1_dense", "gemma3_text", "qwen3_moe"):
        config["head_dim"] = 16
    if model_type in ("qwen3_next", "qwen3_5_text"):
        config.update(head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=24, linear_value_head_dim=16,
                      layer_types=[LINEAR, FULL, LINEAR])
    if model_type == "qwen3_next":
        config.update(EXPERTS, shared_expert_intermediate_size=20)
    if model_type == "zaya":
        config.update(head_dim=8, moe_intermediate_size=24, num_experts=4, router_hidden_size=16)
    if model_type == "gemma4_text":
        config.update(head_dim=8, global_head_dim=16, vocab_size_per_layer_input=SIZES["vocab_size"], hidden_size_per_layer_input=10)
    if model_type in ("qwen3_moe", "lfm2_moe"):
        config.update(EXPERTS)
    if model_type == "gpt_oss":
        config.update(num_local_experts=4, num_experts_per_tok=2, head_dim=16)
    if model_type == "lfm2_moe":
        config["layer_types"] = ["conv", FULL, "conv"]
    config.update(changes)
    return {key: value for key, value in config.items() if value is not ...}


def yarn(**changes):
    return {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 10000.0, **changes}


def llama3(**changes):
    return {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32, "rope_theta": 5000.0, **changes}


def longrope(pairs, **changes):
    return {"type": "longrope", "short_factor": [1 + 0.05 * i for i in range(pairs)], "long_factor": [1.0 + i for i in range(pairs)],
            **changes}


def case(name, model_type, length=20, flags=(), dtype="float32", files=1, head_in_file=False, precision="fp32", new_tokens=16, **changes):
    config = config_of(model_type, **changes)
    return Case(name=f"{model_type}-{name}", config=config, seed=sum(map(ord, name)), prompt_length=length, weight_dtype=dtype, files=files,
                head_in_file=head_in_file, compile_flags=tuple(map(str, flags)), precision=precision, new_tokens=new_tokens)


CASES = [
    # Windows smaller than the prompt, and prompts around the prefill width of 64.
    case("window 7, 65 tokens", "mistral", 65, sliding_window=7),
    case("window 1", "mistral", 5, sliding_window=1),
    case("window 64, 130 tokens", "mistral", 130, sliding_window=64, dtype="bfloat16"),
    case("window null", "mistral", 69, sliding_window=None, dtype="float16", files=3),
    case("layer types make it Ministral", "mistral", 33, sliding_window=9, head_dim=12, layer_types=[SLIDING, FULL, SLIDING]),
    case("max_window_layers", "qwen2", 64, use_sliding_window=True, sliding_window=16, max_window_layers=1),
    case("window switched off", "qwen2", 33, use_sliding_window=False, sliding_window=4, max_window_layers=0),
    case("layer types", "qwen2", 63, use_sliding_window=True, sliding_window=5, layer_types=[FULL, SLIDING, FULL], flags=["--shards", 3]),
    case("layer types", "qwen3", 129, use_sliding_window=True, sliding_window=40, layer_types=[SLIDING, SLIDING, FULL], flags=["--prefill", 16]),
    case("window on the layers without rope", "smollm3", 33, use_sliding_window=True, sliding_window=6, no_rope_layers=[0, 1, 0]),
    case("layer types without the switch", "smollm3", 33, use_sliding_window=False, sliding_window=6, layer_types=[FULL, SLIDING, FULL]),
    # Layers without rope.
    case("every fourth layer without rope", "smollm3", 17, num_hidden_layers=5, flags=["--shards", "0:4,4:5"]),
    case("no layer with rope", "smollm3", 17, no_rope_layer_interval=1),
    case("more no_rope_layers than layers", "smollm3", 17, no_rope_layers=[1, 0, 1, 0, 0], no_rope_layer_interval=0),
    # Rotary embeddings, in both dialects.
    case("yarn above the original length", "qwen2", 130, rope_parameters=yarn()),
    case("yarn below the original length, transformers 4", "llama", 17, rope_theta=1000000.0,
         rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}),
    case("yarn with betas, not truncated", "llama", 65, rope_parameters=yarn(beta_fast=8, beta_slow=0.5, truncate=False)),
    case("yarn with mscale", "smollm3", 40, rope_parameters=yarn(mscale=1.0, mscale_all_dim=0.5)),
    case("yarn with an attention factor", "mistral", 40, rope_parameters=yarn(attention_factor=0.7, factor=40)),
    case("yarn with a null factor", "qwen3", 40, rope_parameters=yarn(factor=None)),
    case("original length beside the dictionary", "llama", 40, rope_scaling=yarn(), original_max_position_embeddings=16),
    case("llama3", "llama", 100, rope_parameters=llama3()),
    case("llama3, transformers 4, integers", "qwen2", 100, rope_theta=500000,
         rope_scaling={"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}),
    case("linear", "mistral", 100, rope_theta=..., rope_scaling={"type": "linear", "factor": 2.5}),
    case("dynamic up to the original length", "llama", 112, max_position_embeddings=128, rope_scaling={"type": "dynamic", "factor": 8.0},
         rope_theta=777.0),
    case("a partial factor that the class ignores", "llama", 20, partial_rotary_factor=0.5, rope_theta=500.0),
    case("class default of theta", "smollm3", 69, rope_scaling=None, torch_dtype="bfloat16", dtype="bfloat16"),
    case("alpha", "hunyuan_v1_dense", 130, rope_scaling={"type": "dynamic", "alpha": 1000.0, "factor": 1.0}, tie_word_embeddings=True),
    case("no alpha, biases", "hunyuan_v1_dense", 33, rope_scaling={"type": "dynamic", "alpha": 0, "factor": 2.0}, attention_bias=True),
    case("six layers, transformers 4", "gemma3_text", 70, num_hidden_layers=7, sliding_window=9, rope_theta=30000.0, rope_local_base_freq=700.0,
         rope_scaling={"rope_type": "linear", "factor": 4.0}, query_pre_attn_scalar=20, dtype="bfloat16"),
    case("listed layers, softcap, biases", "gemma3_text", 33, layer_types=[FULL, SLIDING, FULL], sliding_window=5, final_logit_softcapping=2.5,
         attention_bias=True, head_dim=10, tie_word_embeddings=False, hidden_activation="silu",
         rope_parameters={FULL: {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 5000.0}}),
    case("pattern, fp16", "gemma3_text", 65, sliding_window_pattern=2, sliding_window=16, precision="fp16"),
    case("shared keys, embeddings of layers, two packages", "gemma4_text", 70, num_hidden_layers=6,
         layer_types=[SLIDING, FULL, SLIDING, FULL, SLIDING, FULL], sliding_window=9, num_kv_shared_layers=3, use_double_wide_mlp=True,
         final_logit_softcapping=30.0, flags=["--shards", "0:4,4:6"]),
    case("values from keys, heads of single layers", "gemma4_text", 33, global_head_dim=..., layer_types=[SLIDING, FULL, FULL], attention_k_eq_v=True,
         per_layer_config={"1": {"head_dim": 12, "num_key_value_heads": 1}, "2": {"head_dim": 12, "num_key_value_heads": 1}},
         hidden_size_per_layer_input=0, attention_bias=True),
    case("all kinds, fp16", "gemma4_text", 65, num_hidden_layers=4, sliding_window=16, num_kv_shared_layers=2,
         layer_types=[SLIDING, FULL, SLIDING, FULL], precision="fp16"),
    case("convolutions and attention, older keys", "lfm2", 70, num_hidden_layers=4, full_attn_idxs=[1, 3], block_ff_dim=240, block_multiple_of=16,
         block_ffn_dim_multiplier=1.1, norm_eps=1e-3, tie_embedding=True, rope_theta=4000.0, dtype="bfloat16"),
    case("convolutions alone, with biases", "lfm2", 33, layer_types=["conv"] * 3, conv_bias=True, conv_L_cache=4, block_auto_adjust_ff_dim=False,
         tie_word_embeddings=False),
    case("attention alone", "lfm2", 20, block_multiple_of=8),
    case("longer than a chunk, fp16", "lfm2", 129, layer_types=["conv", FULL, "conv"], block_multiple_of=8, precision="fp16"),
    case("chunks narrower than the convolution", "lfm2", 20, layer_types=["conv", FULL, "conv"], conv_L_cache=7, flags=["--prefill", 2]),
    case("experts beside the MLP", "gemma4_text", 70, layer_types=[SLIDING, FULL, FULL], enable_moe_block=True, num_experts=6, top_k_experts=3,
         moe_intermediate_size=24, hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1, sliding_window=9),
    case("delta nets and experts", "qwen3_next", 70, mlp_only_layers=[1], flags=["--shards", 3, "--prefill", 16]),
    case("one value head a key head, biases, a whole rope", "qwen3_next", 33, linear_num_value_heads=2, attention_bias=True,
         partial_rotary_factor=1.0, norm_topk_prob=False),
    case("the last of every four layers attends", "qwen3_5_text", 33, num_hidden_layers=4, layer_types=...),
    case("chunks narrower than the convolution", "qwen3_5_text", 20, linear_conv_kernel_dim=6, flags=["--prefill", 3]),
    case("a prompt of two chunks", "qwen3_5_text", 70, tie_word_embeddings=True),
    case("convolved heads, experts with router states, two packages", "zaya", 70, num_experts=4, flags=["--shards", 3]),
    case("wide convolutions, biases, windows", "zaya", 33, cca_time0=4, cca_time1=3, attention_bias=True, sliding_window=5, num_experts=3,
         layer_types=["hybrid", "hybrid_sliding", "hybrid_sliding"], tie_word_embeddings=False),
    case("chunks narrower than the convolutions", "zaya", 20, cca_time0=5, cca_time1=5, num_experts=2, flags=["--prefill", 3]),
    case("a prompt longer than a chunk, fp16", "zaya", 129, num_experts=4, precision="fp16", dtype="bfloat16"),
    case("every factor", "granite", 33, embedding_multiplier=12.0, attention_multiplier=0.015625, residual_multiplier=0.22, logits_scaling=8.0,
         tie_word_embeddings=True),
    case("no factor, biases", "granite", 20, attention_bias=True, mlp_bias=True),
    case("norms behind", "olmo2", 70, num_key_value_heads=None, rope_theta=500000.0, dtype="bfloat16"),
    case("grouped heads, biases, yarn", "olmo2", 33, attention_bias=True, head_dim=10, rope_parameters=yarn()),
    case("experts in every layer", "qwen3_moe", 70, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24, norm_topk_prob=True,
         dtype="bfloat16"),
    case("some layers dense, sums as they are, a window", "qwen3_moe", 33, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=40,
         decoder_sparse_step=2, mlp_only_layers=[0], use_sliding_window=True, sliding_window=7, attention_bias=True),
    case("all experts active", "qwen3_moe", 20, num_experts=3, num_experts_per_tok=3, moe_intermediate_size=16),
    case("one expert, fp16", "qwen3_moe", 65, num_experts=5, num_experts_per_tok=1, moe_intermediate_size=16, precision="fp16"),
    case("sigmoids with a bias", "lfm2_moe", 70, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24, num_dense_layers=1,
         layer_types=["conv", FULL, "conv"], norm_eps=1e-3, rope_theta=4000.0, dtype="bfloat16"),
    case("no bias, sums as they are, scaled", "lfm2_moe", 33, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=40, num_dense_layers=0,
         layer_types=["conv", FULL, "conv"], norm_topk_prob=False, use_expert_bias=False, routed_scaling_factor=2.5, tie_embedding=False),
    case("sinks, windows by turns, yarn by default", "gpt_oss", 70, sliding_window=9, dtype="bfloat16"),
    case("transformers 4, a low clamp", "gpt_oss", 33, num_local_experts=6, num_experts_per_tok=3, swiglu_limit=0.7, rope_theta=1200.0, head_dim=12,
         rope_scaling={"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                       "original_max_position_embeddings": 16}),
    case("no biases, listed layers, no scaling", "gpt_oss", 65, attention_bias=False, layer_types=[FULL, SLIDING, FULL], sliding_window=20,
         rope_parameters={"rope_type": "default", "rope_theta": 500.0}, swiglu_alpha=1.0),
    case("fp16", "gpt_oss", 65, sliding_window=40, precision="fp16"),
    # Long texts are rotated by other frequencies.
    case("longrope, a long prompt", "phi3", 40, rope_scaling=longrope(6), original_max_position_embeddings=30),
    case("longrope, the continuation grows long", "phi3", 25, rope_scaling=longrope(6, type="su", original_max_position_embeddings=30),
         original_max_position_embeddings=30),
    case("longrope, always short", "phi3", 25, rope_scaling=longrope(6, type="yarn"), tie_word_embeddings=True),
    case("longrope with factors, a part of the head", "phi3", 70, rope_scaling=longrope(3, factor=8.0), partial_rotary_factor=0.75,
         num_attention_heads=9, num_key_value_heads=3, original_max_position_embeddings=64, rope_theta=500.0),
    case("longrope with an attention factor", "phi3", 33, rope_parameters=longrope(3, attention_factor=1.25, partial_rotary_factor=0.5),
         original_max_position_embeddings=40, sliding_window=9),
    case("a part of the head, no scaling", "phi3", 33, partial_rotary_factor=0.5, num_key_value_heads=None),
    case("longrope, fp16", "phi3", 60, rope_scaling=longrope(6), original_max_position_embeddings=64, precision="fp16"),
    case("longrope of another class", "llama", 40, rope_scaling=longrope(6, original_max_position_embeddings=32)),
    # Shapes.
    case("one token in the vocabulary", "llama", 3, vocab_size=1),
    case("vocabulary in two heads", "qwen2", 5, vocab_size=66001, num_hidden_layers=1, hidden_size=12, num_attention_heads=2, new_tokens=4),
    case("vocabulary in two heads, fp16", "llama", 5, vocab_size=70001, num_hidden_layers=1, hidden_size=12, num_attention_heads=2,
         new_tokens=4, precision="fp16"),
    case("odd sizes", "llama", 2, hidden_size=60, num_attention_heads=5, num_key_value_heads=1, intermediate_size=7, num_hidden_layers=1),
    case("heads wider than the hidden state", "mistral", 20, head_dim=32, hidden_size=36),
    case("head_dim beside the class", "qwen2", 20, head_dim=10, hidden_size=64, num_attention_heads=4, num_key_value_heads=None),
    case("twelve layers, three packages, small context", "qwen3", 128, num_hidden_layers=12, flags=["--shards", 3, "--context", 144]),
    # Biases, activations, norms, heads.
    case("biases everywhere", "llama", 20, attention_bias=True, mlp_bias=True, hidden_act="gelu", tie_word_embeddings=False),
    case("biases that the class ignores", "mistral", 20, attention_bias=True, mlp_bias=True, hidden_act="gelu_new"),
    case("bias of o_proj, relu", "qwen3", 20, attention_bias=True, hidden_act="relu", num_key_value_heads=6),
    case("gelu_fast, eps 0.01, tied", "qwen2", 20, hidden_act="gelu_fast", rms_norm_eps=0.01, tie_word_embeddings=True),
    case("tied with a head in the file", "smollm3", 20, head_in_file=True, attention_bias=True, mlp_bias=True, hidden_act="gelu_pytorch_tanh"),
    case("almost every key absent", "llama", 1, rms_norm_eps=..., num_key_value_heads=..., max_position_embeddings=..., bos_token_id=...,
         eos_token_id=..., pad_token_id=...),
    # fp16, where the caches are states.
    case("fp16, window, yarn", "mistral", 127, sliding_window=20, rope_parameters=yarn(), precision="fp16"),
    case("fp16, norms of heads", "qwen3", 65, precision="fp16", dtype="bfloat16", flags=["--shards", 3]),
]

# (key that the message names, value that it names, model type, changes)
REFUSED = [
    ("hidden_act", "mish", "llama", {"hidden_act": "mish"}),
    ("hidden_act", "null", "llama", {"hidden_act": None}),
    ("model_type", "gpt9", "gpt9", {}),
    ("short_factor", "longrope", "llama", {"rope_scaling": {"type": "longrope", "factor": 2.0}}),
    ("long_factor", "6", "phi3", {"rope_scaling": longrope(6, long_factor=[1.0] * 5)}),
    ("attn_logit_softcapping", "50", "gemma3_text", {"attn_logit_softcapping": 50.0}),
    ("use_bidirectional_attention", "true", "gemma3_text", {"use_bidirectional_attention": True}),
    ("rope_scaling", "linear", "gemma3_text", {"rope_scaling": {"type": "linear", "factor": 8.0}}),
    ("sliding_window", "none", "gemma3_text", {"sliding_window": None}),
    ("hidden_activation", "mish", "gemma3_text", {"hidden_activation": "mish"}),
    ("hidden_size", "70", "gemma3_text", {"hidden_size": 70}),
    ("use_bidirectional_attention", "all", "gemma4_text", {"use_bidirectional_attention": "all"}),
    ("vocab_size_per_layer_input", "7", "gemma4_text", {"vocab_size_per_layer_input": 7}),
    ("num_kv_shared_layers", "3", "gemma4_text", {"num_kv_shared_layers": 3, "hidden_size_per_layer_input": 0}),
    ("top_k_experts", "none", "gemma4_text", {"enable_moe_block": True, "num_experts": 4, "moe_intermediate_size": 8}),
    ("top_k_experts", "5", "gemma4_text", {"enable_moe_block": True, "num_experts": 4, "moe_intermediate_size": 8, "top_k_experts": 5}),
    ("per_layer_config", "sliding_window", "gemma4_text", {"per_layer_config": {"1": {"sliding_window": 4}}}),
    ("linear_num_value_heads", "3", "qwen3_next", {"linear_num_value_heads": 3}),
    ("layer_types", "sliding_attention", "qwen3_5_text", {"layer_types": [SLIDING] * 3}),
    ("lm_head_bias", "true", "zaya", {"lm_head_bias": True}),
    ("num_experts_per_tok", "2", "zaya", {"num_experts_per_tok": 2}),
    ("sliding_window", "none", "zaya", {"layer_types": ["hybrid_sliding"] * 3}),
    ("hybrid", "linear", "zaya", {"rope_parameters": {"hybrid": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}}),
    ("layer_types", "sliding_attention", "lfm2", {"layer_types": ["conv", SLIDING, "conv"]}),
    ("conv_L_cache", "1", "lfm2", {"conv_L_cache": 1}),
    ("num_experts_per_tok", "5", "qwen3_moe", {"num_experts_per_tok": 5}),
    ("sliding_window", "none", "gpt_oss", {"sliding_window": None}),
    ("num_experts_per_tok", "9", "gpt_oss", {"num_experts_per_tok": 9}),
    ("layer_types", "none", "lfm2_moe", {"layer_types": None}),
    ("logits_scaling", "0", "granite", {"logits_scaling": 0}),
    ("head_dim", "none", "hunyuan_v1_dense", {"head_dim": ...}),
    ("use_qk_norm", "false", "hunyuan_v1_dense", {"use_qk_norm": False}),
    ("use_cla", "true", "hunyuan_v1_dense", {"use_cla": True}),
    ("rope_type", "linear", "phi3", {"rope_scaling": {"type": "linear", "factor": 2.0}}),
    ("rope_type", "ntk", "qwen2", {"rope_parameters": {"rope_type": "ntk", "rope_theta": 1.0}}),
    ("rope_type", "null", "qwen2", {"rope_parameters": {"rope_type": None}}),
    ("factor", "linear", "qwen3", {"rope_scaling": {"type": "linear"}}),
    ("factor", "dynamic", "qwen3", {"rope_scaling": {"type": "dynamic"}}),
    ("factor", "yarn", "llama", {"rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": 16}}),
    ("low_freq_factor", "llama3", "llama", {"rope_parameters": {"rope_type": "llama3", "factor": 2.0, "high_freq_factor": 4.0}}),
    ("original_max_position_embeddings", "0", "llama", {"rope_parameters": yarn(original_max_position_embeddings=0)}),
    ("partial_rotary_factor", "0.5", "llama", {"rope_parameters": yarn(partial_rotary_factor=0.5)}),
    ("full_attention", "one dictionary", "qwen3", {"rope_parameters": {FULL: {"rope_type": "default", "rope_theta": 1e4}}}),
    ("rope_theta", "null", "llama", {"rope_theta": None}),
    ("layer_types", "chunked_attention", "qwen2", {"layer_types": ["chunked_attention"] * 3}),
    ("layer_types", "2", "qwen2", {"layer_types": [FULL] * 2}),
    ("sliding_window", "none", "qwen2", {"layer_types": [SLIDING] * 3, "use_sliding_window": False, "sliding_window": 8}),
    ("sliding_window", "none", "mistral", {"layer_types": [SLIDING] * 3, "sliding_window": None}),
    ("no_rope_layers", "2", "smollm3", {"no_rope_layers": [1, 0]}),
    ("no_rope_layer_interval", "0", "smollm3", {"no_rope_layer_interval": 0}),
    ("num_key_value_heads", "4", "llama", {"num_key_value_heads": 4}),
    ("num_key_value_heads", "null", "mistral", {"num_key_value_heads": None}),
    ("head_dim", "15", "qwen3", {"head_dim": 15}),
    ("head_dim", "null", "qwen2", {"head_dim": None}),
    ("hidden_size", "70", "llama", {"hidden_size": 70, "head_dim": 12}),
    ("vocab_size", "null", "llama", {"vocab_size": None}),
]
# What transformers does run, and anemone does not: said in a line rather than computed wrongly.
NOT_SUPPORTED = {("hidden_act", "mish"), ("hidden_activation", "mish"), ("layer_types", "chunked_attention"), ("layer_types", "sliding_attention"),
                 ("attn_logit_softcapping", "50"), ("use_bidirectional_attention", "true"), ("rope_scaling", "linear"), ("use_qk_norm", "false"),
                 ("use_cla", "true"), ("lm_head_bias", "true"), ("hybrid", "linear"), ("use_bidirectional_attention", "all"), ("vocab_size_per_layer_input", "7"),
                 ("per_layer_config", "sliding_window"), ("conv_L_cache", "1"), ("logits_scaling", "0")}

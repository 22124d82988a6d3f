# SPDX-License-Identifier: Apache-2.0
"""A seeded generator of small checkpoints over everything that the decoder classes read from config.json.

A case is plain data: the config as it is written, how the weights are stored, the prompt, and the flags of `anemone
compile`. The same seed gives the same case.
"""

import dataclasses
import random

ARCHITECTURES = {"qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM",
                 "qwen3": "Qwen3ForCausalLM", "smollm3": "SmolLM3ForCausalLM", "phi3": "Phi3ForCausalLM",
                 "hunyuan_v1_dense": "HunYuanDenseV1ForCausalLM", "gemma3_text": "Gemma3ForCausalLM", "gemma4_text": "Gemma4ForCausalLM",
                 "lfm2": "Lfm2ForCausalLM", "granite": "GraniteForCausalLM",
                 "olmo2": "Olmo2ForCausalLM", "lfm2_moe": "Lfm2MoeForCausalLM",
                 "qwen3_moe": "Qwen3MoeForCausalLM", "zaya": "ZayaForCausalLM", "gpt_oss": "GptOssForCausalLM",
                 "qwen3_next": "Qwen3NextForCausalLM", "qwen3_5_text": "Qwen3_5ForCausalLM"}
MODEL_TYPES = tuple(ARCHITECTURES)
ACTIVATIONS = ("silu", "silu", "silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_python", "gelu_fast",
               "gelu_accurate", "gelu_python_tanh", "relu")
ROPE_TYPES = ("none", "default", "linear", "dynamic", "llama3", "yarn", "yarn", "yarn")
# Around the prefill width of 64, of its multiples, and lengths that leave 1 in every group of four.
PROMPT_LENGTHS = (1, 2, 3, 5, 17, 33, 63, 64, 65, 69, 127, 128, 129, 130)
NEW_TOKENS = 16


@dataclasses.dataclass
class Case:
    name: str
    config: dict
    seed: int
    prompt_length: int = 20
    new_tokens: int = NEW_TOKENS
    weight_dtype: str = "float32"
    files: int = 1  # safetensors files; more than one come with an index
    head_in_file: bool = False  # a tied checkpoint that holds lm_head.weight as well
    compile_flags: tuple = ()
    precision: str = "fp32"

    def __str__(self):
        return self.name


def rope_keys(rng, positions, theta):
    """The keys of a rotary embedding in one of the two dialects; `positions` is max_position_embeddings."""
    kind = rng.choice(ROPE_TYPES)
    if kind == "none":  # the class default of theta
        return {}
    rope = {}
    if kind == "linear":
        rope["factor"] = rng.choice([1.0, 2.0, 4, 7.5])
    elif kind == "dynamic":
        rope["factor"] = rng.choice([1.0, 2.0, 8])
    elif kind == "llama3":
        low = rng.choice([1.0, 1, 2.0, 0.5])
        rope.update(factor=rng.choice([8.0, 32.0, 1.5]), low_freq_factor=low, high_freq_factor=rng.choice([low * 4, low * 2, low * 1.1]),
                    original_max_position_embeddings=rng.choice([8, 16, 50, positions // 2]))
        if rng.random() < 0.15:
            del rope["original_max_position_embeddings"]
    elif kind == "yarn":
        rope["factor"] = rng.choice([1.0, 2.0, 4.0, 40, 0.5, None])
        if rng.random() < 0.85:
            rope["original_max_position_embeddings"] = rng.choice([4, 16, 50, positions // 4, positions])
        for key, values in (("beta_fast", [32, 32.0, 4, 0, 1]), ("beta_slow", [1, 1.0, 0.5, 0, 2]),
                            ("attention_factor", [1.0, 0.7, 1.4, 0.0, None]), ("mscale", [1.0, 0.707, 0]),
                            ("mscale_all_dim", [1.0, 0.5, 0]), ("truncate", [True, False])):
            if rng.random() < 0.4:
                rope[key] = rng.choice(values)
    if rng.random() < 0.5:  # transformers 4
        keys = {}
        if rng.random() < 0.8:
            keys["rope_theta"] = theta
        if kind != "default":
            rope[rng.choice(["type", "rope_type"])] = kind
            keys["rope_scaling"] = rope
        elif rng.random() < 0.5:
            keys["rope_scaling"] = rng.choice([None, {}, {"type": "default"}, {"rope_type": "default"}])
        if kind in ("llama3", "yarn") and rng.random() < 0.1:
            keys["original_max_position_embeddings"] = 24
        if kind == "default" and rng.random() < 0.2:
            keys["partial_rotary_factor"] = 0.5
        return keys
    rope["rope_type"] = kind
    if rng.random() < 0.9:
        rope["rope_theta"] = theta
    if kind == "default" and rng.random() < 0.2:
        rope["partial_rotary_factor"] = 0.5
    keys = {"rope_parameters": rope}
    if rng.random() < 0.1:
        keys["rope_theta"] = 777.0  # the dictionary wins
    return keys


def phi3_rope_keys(rng, positions, theta, head_dim):
    keys, rope = {}, {"type": rng.choice(["longrope", "longrope", "su", "yarn"])}
    partial = rng.choice([f for f in (1.0, 0.75, 0.5, 0.25) if int(head_dim * f) % 2 == 0 and head_dim * f >= 2])
    pairs = int(head_dim * partial) // 2
    rope.update(short_factor=[1 + 0.1 * i * rng.random() for i in range(pairs)], long_factor=[1.0 + i for i in range(pairs)])
    if rng.random() < 0.3:
        rope["factor"] = rng.choice([1.0, 4.0, 32])
    if rng.random() < 0.2:
        rope["attention_factor"] = rng.choice([1.0, 1.3])
    if rope["type"] == "su":  # transformers wants the key inside, and takes the one outside
        rope["original_max_position_embeddings"] = 24
    if partial != 1:
        keys["partial_rotary_factor"] = partial
    if rng.random() < 0.7:
        keys["original_max_position_embeddings"] = rng.choice([8, 24, 50, positions // 2, positions])
    if rng.random() < 0.8:
        keys["rope_theta"] = theta
    if rng.random() < 0.8:
        keys["rope_scaling"] = rope
    return keys


def window_keys(rng, model_type, layers, length):
    window = rng.choice([1, 2, 3, 7, 16, 40, 64, 65, 100, 4096])
    kinds = ["sliding_attention", "full_attention"]
    if model_type in ("mistral", "phi3"):
        return rng.choice([{}, {"sliding_window": None}, {"sliding_window": window}, {"sliding_window": window}])
    if model_type == "qwen3_moe":
        return rng.choice([{}, {"use_sliding_window": True, "sliding_window": window}, {"sliding_window": window}])
    if model_type == "gpt_oss":
        keys = rng.choice([{}, {"sliding_window": window}, {"sliding_window": window}])
        if rng.random() < 0.5:
            keys["layer_types"] = [rng.choice(kinds) for _ in range(layers)]
        return keys
    if model_type in ("qwen2", "qwen3"):
        keys = rng.choice([{}, {"use_sliding_window": False, "sliding_window": window, "max_window_layers": rng.randrange(layers + 1)},
                           {"use_sliding_window": True, "sliding_window": window}, {"use_sliding_window": True, "sliding_window": window}])
        if keys.get("use_sliding_window"):
            choice = rng.random()
            if choice < 0.4:
                keys["max_window_layers"] = rng.randrange(layers + 1)
            elif choice < 0.8:
                keys["layer_types"] = [rng.choice(kinds) for _ in range(layers)]
        elif rng.random() < 0.1:
            keys["layer_types"] = ["full_attention"] * layers
        return keys
    if model_type == "smollm3":
        keys = {}
        choice = rng.random()
        if choice < 0.4:
            keys["no_rope_layers"] = [rng.randrange(2) for _ in range(layers + rng.choice([0, 0, 0, 1, 3]))]
        elif choice < 0.8:
            keys["no_rope_layer_interval"] = rng.choice([1, 2, 3, 5])
        if rng.random() < 0.5:
            keys.update(use_sliding_window=rng.random() < 0.8, sliding_window=window)
            if rng.random() < 0.4:
                keys["layer_types"] = [rng.choice(kinds) for _ in range(layers)]
        return keys
    return {}


def random_case(seed, model_type=None):
    rng = random.Random(seed)
    model_type = model_type or rng.choice(MODEL_TYPES)
    layers = rng.choice([1, 1, 2, 3, 4, 5, 12])
    kv_heads = rng.choice([1, 1, 2, 3])
    heads = kv_heads * rng.choice([1, 1, 2, 3, 5])
    head_dim = rng.choice([2, 4, 8, 10, 12, 16, 24, 32, 64])
    hidden = heads * head_dim
    # phi3 checks its factors against hidden_size.
    own_head_dim = model_type in ("qwen3", "hunyuan_v1_dense") or (model_type != "phi3" and rng.random() < 0.4)
    if own_head_dim:  # a width that head_dim does not follow from
        hidden = rng.choice([60, 72, 36, 64, 128, 20])
        if model_type == "llama":
            hidden = heads * max(1, hidden // heads)
    vocab = rng.choice([503, 1, 2, 96, 256, 1000, 4097])
    length = rng.choice(PROMPT_LENGTHS)
    positions = rng.choice([length + NEW_TOKENS, 160, 256, 512, 2048, 4096])
    positions = max(positions, length + NEW_TOKENS)
    config = {
        "architectures": [ARCHITECTURES[model_type]], "model_type": model_type, "vocab_size": vocab, "hidden_size": hidden,
        "intermediate_size": rng.choice([8, 33, 60, 96, 128, 7]), "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "max_position_embeddings": positions,
        "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
    }
    if own_head_dim or (model_type in ("llama", "mistral") and rng.random() < 0.2):
        config["head_dim"] = head_dim
    if kv_heads == heads and model_type in ("llama", "qwen2", "qwen3", "smollm3", "phi3", "hunyuan_v1_dense") and rng.random() < 0.3:
        config["num_key_value_heads"] = None
        if model_type == "llama" and rng.random() < 0.5:
            del config["num_key_value_heads"]
    if rng.random() < 0.7:
        config["rms_norm_eps"] = rng.choice([1e-6, 1e-5, 1e-8, 1e-3, 0.0, 1e-12])
    if rng.random() < 0.7:
        config["hidden_act"] = rng.choice(ACTIVATIONS)
    if rng.random() < 0.7:
        config["tie_word_embeddings"] = rng.random() < 0.5
    # Read by some classes, ignored by the others.
    if rng.random() < 0.5:
        config["attention_bias"] = rng.random() < 0.6
    if rng.random() < 0.5:
        config["mlp_bias"] = rng.random() < 0.6
    if model_type == "gemma3_text":
        return gemma3_case(rng, seed, config, length, layers)
    if model_type == "gemma4_text":
        return gemma4_case(rng, seed, config, length, layers)
    if model_type in ("qwen3_next", "qwen3_5_text"):
        return delta_net_case(rng, seed, model_type, config, length, layers)
    if model_type == "zaya":
        return zaya_case(rng, seed, config, length, layers)
    if model_type == "lfm2":
        return lfm2_case(rng, seed, config, length, layers)
    if model_type == "lfm2_moe":
        return lfm2_moe_case(rng, seed, config, length, layers)
    if model_type == "qwen3_moe":
        config.update(experts_keys(rng), norm_topk_prob=rng.random() < 0.5, decoder_sparse_step=rng.choice([1, 1, 2]))
        if rng.random() < 0.3:
            config["mlp_only_layers"] = [rng.randrange(layers)]
    if model_type == "gpt_oss":
        keys = experts_keys(rng)
        config.update(num_local_experts=keys["num_experts"], num_experts_per_tok=keys["num_experts_per_tok"], head_dim=head_dim)
        for key, values in (("swiglu_limit", [7.0, 1.5, 0.5]), ("swiglu_alpha", [1.702, 1.0])):
            if rng.random() < 0.4:
                config[key] = rng.choice(values)
    if model_type == "granite":
        for key, values in (("embedding_multiplier", [12, 3.0, 1.0]), ("attention_multiplier", [0.0625, 0.5]), ("residual_multiplier", [0.22, 2]),
                            ("logits_scaling", [4, 0.5, 1.0])):
            if rng.random() < 0.7:
                config[key] = rng.choice(values)
    theta = rng.choice([10000.0, 10000, 500.0, 1000000.0, 5e6, 3.0])
    config.update(phi3_rope_keys(rng, positions, theta, head_dim) if model_type == "phi3" else rope_keys(rng, positions, theta))
    if model_type == "hunyuan_v1_dense" and rng.random() < 0.7:
        config.pop("rope_parameters", None)
        config["rope_scaling"] = {"type": "dynamic", "alpha": rng.choice([1.0, 50.0, 1000]), "factor": 1.0, "mscale": 1.0}
    config.update(window_keys(rng, model_type, layers, length))
    return finished_case(rng, seed, model_type, config, length, layers, positions)


def gemma3_case(rng, seed, config, length, layers):
    config["hidden_activation"] = config.pop("hidden_act", "gelu_pytorch_tanh")
    config["head_dim"] = rng.choice([2, 8, 10, 24])
    config["hidden_size"] = config["num_attention_heads"] * rng.choice([4, 9, 16])
    for key, values in (("query_pre_attn_scalar", [4, 20, 256]), ("sliding_window", [1, 5, 64, 512]), ("sliding_window_pattern", [1, 2, 3, 6]),
                        ("final_logit_softcapping", [None, 4.0, 30.0])):
        if rng.random() < 0.7:
            config[key] = rng.choice(values)
    full = rng.choice([{"rope_type": "default"}, {"rope_type": "linear", "factor": 4.0}])
    if rng.random() < 0.5:
        config.update(rope_theta=rng.choice([30000.0, 1e6]), rope_local_base_freq=rng.choice([700.0, 1e4]), rope_scaling=rng.choice([None, full]))
    elif rng.random() < 0.7:
        config["rope_parameters"] = {"full_attention": {**full, "rope_theta": 5000.0}, "sliding_attention": {"rope_type": "default"}}
    if rng.random() < 0.3:
        config["layer_types"] = [rng.choice(["sliding_attention", "full_attention"]) for _ in range(layers)]
    return finished_case(rng, seed, "gemma3_text", config, length, layers, config["max_position_embeddings"])


def gemma4_case(rng, seed, config, length, layers):
    config["hidden_activation"] = config.pop("hidden_act", "gelu_pytorch_tanh")
    config["head_dim"] = rng.choice([2, 8, 10, 24])
    config["global_head_dim"] = rng.choice([2, 8, 10, 24])
    config["vocab_size_per_layer_input"] = config["vocab_size"]
    config["hidden_size_per_layer_input"] = rng.choice([0, 0, 2, 7, 16])
    types = [rng.choice(["sliding_attention", "full_attention"]) for _ in range(layers)]
    types[-1] = "full_attention"
    if rng.random() < 0.8:
        config["layer_types"] = types
        # Both kinds need a layer with keys of its own.
        most = next((n for n in range(layers - 1, 0, -1) if set(types[: layers - n]) == set(types)), 0)
        if config["hidden_size_per_layer_input"]:  # transformers cannot run shared keys without
            config["num_kv_shared_layers"] = rng.randint(0, most)
    for key, values in (("sliding_window", [1, 5, 64, 512]), ("final_logit_softcapping", [None, 4.0, 30.0]), ("attention_k_eq_v", [True, False]),
                        ("num_global_key_value_heads", [None, 1]), ("use_double_wide_mlp", [True, False])):
        if rng.random() < 0.7:
            config[key] = rng.choice(values)
    if rng.random() < 0.3:
        count = rng.choice([1, 3, 5])
        config.update(enable_moe_block=True, num_experts=count, top_k_experts=rng.randint(1, count), moe_intermediate_size=rng.choice([8, 21]))
    if rng.random() < 0.6:
        config["rope_parameters"] = {
            "full_attention": {"rope_type": "proportional", "rope_theta": 5000.0, "partial_rotary_factor": rng.choice([0.25, 0.5, 1.0])},
            "sliding_attention": {"rope_type": "default", "rope_theta": 700.0}}
    return finished_case(rng, seed, "gemma4_text", config, length, layers, config["max_position_embeddings"])


def delta_net_case(rng, seed, model_type, config, length, layers):
    key_heads = rng.choice([1, 2, 3])
    config.update(head_dim=rng.choice([8, 16, 24]), linear_num_key_heads=key_heads, linear_num_value_heads=key_heads * rng.choice([1, 2, 3]),
                  linear_key_head_dim=rng.choice([16, 24]), linear_value_head_dim=rng.choice([6, 16, 21]))
    # The graph of a chunk has one step per token.
    config["num_hidden_layers"] = layers = min(layers, 4)
    for key, values in (("linear_conv_kernel_dim", [2, 3, 5]), ("partial_rotary_factor", [0.25, 0.5, 1.0]), ("rope_theta", [300.0, 1e6]),
                        ("layer_types", [[rng.choice(["linear_attention", "full_attention"]) for _ in range(layers)]])):
        if rng.random() < 0.6:
            config[key] = rng.choice(values)
    if model_type == "qwen3_next":
        count = rng.choice([1, 3, 5])
        config.update(num_experts=count, num_experts_per_tok=rng.randint(1, count), moe_intermediate_size=rng.choice([8, 21]),
                      shared_expert_intermediate_size=rng.choice([7, 24]), norm_topk_prob=rng.random() < 0.7)
        if rng.random() < 0.4:
            config.update(decoder_sparse_step=rng.choice([1, 2]), mlp_only_layers=[i for i in range(layers) if rng.random() < 0.3])
    return finished_case(rng, seed, model_type, config, length, layers, config["max_position_embeddings"])


def zaya_case(rng, seed, config, length, layers):
    config.update(head_dim=rng.choice([4, 8, 12, 24]), num_experts=rng.choice([1, 2, 4, 7]), moe_intermediate_size=rng.choice([8, 21, 32]),
                  router_hidden_size=rng.choice([1, 6, 17]))
    for key, values in (("cca_time0", [2, 3, 5]), ("cca_time1", [2, 4])):
        if rng.random() < 0.5:
            config[key] = rng.choice(values)
    if rng.random() < 0.5:
        config.update(sliding_window=rng.choice([1, 5, 64]), layer_types=[rng.choice(["hybrid", "hybrid_sliding"]) for _ in range(layers)])
    if rng.random() < 0.6:
        config["rope_parameters"] = {kind: {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": rng.choice([0.5, 1.0])}
                                     for kind, theta in (("hybrid", 5000.0), ("hybrid_sliding", 100.0))}
    return finished_case(rng, seed, "zaya", config, length, layers, config["max_position_embeddings"])


def lfm2_case(rng, seed, config, length, layers):
    config["norm_eps"] = config.pop("rms_norm_eps", 1e-5)
    config["block_multiple_of"] = rng.choice([1, 8, 16])
    for key, values in (("block_ffn_dim_multiplier", [1.0, 1.3, 2]), ("block_auto_adjust_ff_dim", [True, False]), ("conv_L_cache", [2, 3, 4, 7]),
                        ("conv_bias", [True, False]), ("block_ff_dim", [33, 96]), ("tie_embedding", [True, False]), ("rope_theta", [4000.0, 1e6])):
        if rng.random() < 0.6:
            config[key] = rng.choice(values)
    if rng.random() < 0.5:
        config["full_attn_idxs"] = [i for i in range(layers) if rng.random() < 0.4]
    elif rng.random() < 0.7:
        config["layer_types"] = [rng.choice(["conv", "full_attention"]) for _ in range(layers)]
    return finished_case(rng, seed, "lfm2", config, length, layers, config["max_position_embeddings"])


def experts_keys(rng):
    count = rng.choice([1, 2, 4, 7, 16])
    return {"num_experts": count, "num_experts_per_tok": rng.randint(1, min(count, 5)), "moe_intermediate_size": rng.choice([8, 21, 32])}


def lfm2_moe_case(rng, seed, config, length, layers):
    config["norm_eps"] = config.pop("rms_norm_eps", 1e-5)
    config["layer_types"] = [rng.choice(["conv", "full_attention"]) for _ in range(layers)]
    config.update(experts_keys(rng))
    for key, values in (("norm_topk_prob", [True, False]), ("use_expert_bias", [True, False]), ("routed_scaling_factor", [1.0, 0.5, 2]),
                        ("num_dense_layers", [0, 1, 2]), ("conv_L_cache", [2, 3, 4, 7]), ("conv_bias", [True, False]),
                        ("tie_embedding", [True, False]), ("rope_theta", [4000.0, 1e6])):
        if rng.random() < 0.6:
            config[key] = rng.choice(values)
    return finished_case(rng, seed, "lfm2_moe", config, length, layers, config["max_position_embeddings"])


def finished_case(rng, seed, model_type, config, length, layers, positions):
    weight_dtype = rng.choice(["float32", "bfloat16", "float16"])
    config[rng.choice(["dtype", "torch_dtype"])] = weight_dtype

    flags = []
    if rng.random() < 0.3:
        flags += ["--shards", str(rng.choice([n for n in (1, 2, 3) if n <= layers]))]
    if rng.random() < 0.3:
        flags += ["--prefill", str(rng.choice([1, 2, 7, 16, 33, 100]))]
    if rng.random() < 0.5:
        flags += ["--context", str(min(positions, length + NEW_TOKENS + rng.choice([0, 1, 30])))]
    files, head_in_file = rng.choice([1, 1, 1, 3]), rng.random() < 0.2
    precision = rng.choices(["fp32", "fp16"], [5, 1])[0]
    if rng.random() < 0.3:
        flags += ["--form", "blend-states"]
    return Case(name=f"{model_type}-{seed}", config=config, seed=seed, prompt_length=length, weight_dtype=weight_dtype,
                files=files, head_in_file=head_in_file, compile_flags=tuple(flags), precision=precision)

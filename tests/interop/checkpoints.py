# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a few hundred kB with random weights, one for each form that a graph can take."""

import json

import numpy as np
from safetensors.numpy import save_file

# Every projection has more than 2048 elements: smaller ones are never quantized.
COMMON = {
    "vocab_size": 72, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
    "rope_theta": 10000.0,
}
FORMS = {
    "llama": {"model_type": "llama"},
    "llama_untied": {"model_type": "llama", "tie_word_embeddings": False},
    "llama_biases": {"model_type": "llama", "attention_bias": True, "mlp_bias": True},
    "llama_one_head_of_keys": {"model_type": "llama", "num_key_value_heads": 1},
    "llama_as_many_heads_of_keys": {"model_type": "llama", "num_key_value_heads": 4},
    "llama_own_head_dim": {"model_type": "llama", "head_dim": 24},
    "llama_one_layer": {"model_type": "llama", "num_hidden_layers": 1},
    "llama_gelu": {"model_type": "llama", "hidden_act": "gelu"},
    "llama_gelu_tanh": {"model_type": "llama", "hidden_act": "gelu_pytorch_tanh"},
    "llama_relu": {"model_type": "llama", "hidden_act": "relu"},
    "llama_rope_llama3": {"model_type": "llama", "rope_scaling": {
        "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}},
    "llama_rope_linear": {"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 2.0}},
    "llama_rope_dynamic": {"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    # 65,536 columns are the most that one head package takes.
    "llama_wide_vocabulary": {"model_type": "llama", "vocab_size": 65_600, "num_hidden_layers": 1},
    "mistral": {"model_type": "mistral", "sliding_window": 5},
    "mistral_full": {"model_type": "mistral", "sliding_window": None},
    "qwen2": {"model_type": "qwen2"},
    "qwen2_sliding": {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    "qwen3": {"model_type": "qwen3", "head_dim": 16, "num_hidden_layers": 3},
    "qwen3_rope_yarn": {"model_type": "qwen3", "head_dim": 16, "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}},
    "qwen3_biases": {"model_type": "qwen3", "head_dim": 16, "attention_bias": True},
    "smollm3": {"model_type": "smollm3", "no_rope_layers": [1, 0]},
    "smollm3_sliding": {"model_type": "smollm3", "no_rope_layers": [1, 0], "use_sliding_window": True,
                        "sliding_window": 5},
    "hunyuan_v1_dense": {"model_type": "hunyuan_v1_dense", "head_dim": 16, "rope_scaling": {
        "type": "dynamic", "alpha": 50.0, "factor": 1.0}},
    "gemma3": {"model_type": "gemma3_text", "head_dim": 16, "sliding_window": 5, "sliding_window_pattern": 2,
               "final_logit_softcapping": 30.0},
    "gemma4": {"model_type": "gemma4_text", "head_dim": 16, "global_head_dim": 32, "sliding_window": 5, "num_hidden_layers": 4,
               "layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 2, "final_logit_softcapping": 30.0,
               "hidden_size_per_layer_input": 40, "vocab_size_per_layer_input": 72},
    "qwen3_next": {"model_type": "qwen3_next", "head_dim": 16, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
                   "linear_num_value_heads": 4, "linear_key_head_dim": 24, "linear_value_head_dim": 16, "num_experts": 3,
                   "num_experts_per_tok": 2, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 48},
    "qwen3_5": {"model_type": "qwen3_5_text", "head_dim": 16, "layer_types": ["linear_attention", "full_attention"],
                "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 24, "linear_value_head_dim": 16},
    "zaya": {"model_type": "zaya", "head_dim": 16, "num_experts": 3, "moe_intermediate_size": 40, "router_hidden_size": 48},
    "lfm2": {"model_type": "lfm2", "layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "granite": {"model_type": "granite", "embedding_multiplier": 12.0, "attention_multiplier": 0.25, "residual_multiplier": 0.22,
                "logits_scaling": 8.0},
    "olmo2": {"model_type": "olmo2"},
    "qwen3_moe": {"model_type": "qwen3_moe", "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 40,
                  "norm_topk_prob": True},
    "lfm2_moe": {"model_type": "lfm2_moe", "layer_types": ["conv", "full_attention"], "num_experts": 4, "num_experts_per_tok": 2,
                 "moe_intermediate_size": 40, "num_dense_layers": 1},
    "gpt_oss": {"model_type": "gpt_oss", "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 5,
                "attention_bias": True},
    "phi3": {"model_type": "phi3", "partial_rotary_factor": 0.5, "original_max_position_embeddings": 32, "rope_scaling": {
        "type": "longrope", "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 3.0, 4.0]}},
}


def expert_shapes(config, names):
    """Router and experts of a layer, as the hub has them."""
    hidden, inner, count = config["hidden_size"], config["moe_intermediate_size"], config["num_experts"]
    shapes = {"gate": (count, hidden)}
    for expert in range(count):
        shapes |= {f"experts.{expert}.{name}": (inner, hidden) for name in names[:2]}
        shapes[f"experts.{expert}.{names[2]}"] = (hidden, inner)
    return shapes


def shapes_of(config):
    """Tensors of the checkpoint by name."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    dim = config.get("head_dim", hidden // config["num_attention_heads"])
    query, key = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    kind = config["model_type"]
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        if kind.startswith("lfm2"):
            mixer = {"conv.in_proj": (3 * hidden, hidden), "conv.conv": (hidden, 1, 3), "conv.out_proj": (hidden, hidden)}
            if config["layer_types"][layer] != "conv":
                mixer = {"self_attn.q_proj": (query, hidden), "self_attn.k_proj": (key, hidden), "self_attn.v_proj": (key, hidden),
                         "self_attn.out_proj": (hidden, query), "self_attn.q_layernorm": (dim,), "self_attn.k_layernorm": (dim,)}
            mlp = {"feed_forward.w1": (inner, hidden), "feed_forward.w3": (inner, hidden), "feed_forward.w2": (hidden, inner)}
            if kind == "lfm2_moe" and layer >= config["num_dense_layers"]:
                mlp = {f"feed_forward.{name}": shape for name, shape in expert_shapes(config, ("w1", "w3", "w2")).items()}
                shapes[f"{prefix}feed_forward.expert_bias"] = (config["num_experts"],)
            norms = {"operator_norm": (hidden,), "ffn_norm": (hidden,)}
            shapes |= {f"{prefix}{name}.weight": shape for name, shape in (mixer | mlp | norms).items()}
            shapes["model.embedding_norm.weight"] = (hidden,)
            continue
        if kind in ("qwen3_next", "qwen3_5_text"):
            shapes |= delta_net_layer(config, prefix, layer)
            continue
        if kind == "zaya":
            shapes |= zaya_layer(config, prefix, layer)
            continue
        if kind == "gemma4_text":
            shapes |= gemma4_layer(config, prefix, layer)
            continue
        projections = {"self_attn.q_proj": (query, hidden), "self_attn.k_proj": (key, hidden),
                       "self_attn.v_proj": (key, hidden), "self_attn.o_proj": (hidden, query),
                       "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
                       "mlp.down_proj": (hidden, inner)}
        if kind == "phi3":
            projections = {"self_attn.qkv_proj": (query + 2 * key, hidden), "self_attn.o_proj": (hidden, query),
                           "mlp.gate_up_proj": (2 * inner, hidden), "mlp.down_proj": (hidden, inner)}
        if kind == "gpt_oss":
            count = config["num_local_experts"]
            projections = {name: shape for name, shape in projections.items() if not name.startswith("mlp")}
            shapes |= {f"{prefix}self_attn.sinks": (config["num_attention_heads"],), f"{prefix}mlp.router.weight": (count, hidden),
                       f"{prefix}mlp.router.bias": (count,)}
            for name, shape in {"gate_up_proj": (hidden, 2 * inner), "down_proj": (inner, hidden)}.items():
                shapes |= {f"{prefix}mlp.experts.{name}": (count, *shape), f"{prefix}mlp.experts.{name}_bias": (count, shape[1])}
        if kind == "qwen3_moe":
            projections = {name: shape for name, shape in projections.items() if not name.startswith("mlp")}
            projections |= {f"mlp.{name}": shape for name, shape in expert_shapes(config, ("gate_proj", "up_proj", "down_proj")).items()}
        for name, shape in projections.items():
            shapes[f"{prefix}{name}.weight"] = shape
            if name.startswith("mlp"):
                has_bias = config.get("mlp_bias", False)
            else:
                has_bias = config.get("attention_bias", False) or (kind == "qwen2" and "o_proj" not in name)
            if has_bias:
                shapes[f"{prefix}{name}.bias"] = shape[:1]
        shapes |= {f"{prefix}input_layernorm.weight": (hidden,), f"{prefix}post_attention_layernorm.weight": (hidden,)}
        if kind == "hunyuan_v1_dense":
            shapes |= {f"{prefix}self_attn.query_layernorm.weight": (dim,), f"{prefix}self_attn.key_layernorm.weight": (dim,)}
        if kind == "gemma3_text":
            shapes |= {f"{prefix}{part}_feedforward_layernorm.weight": (hidden,) for part in ("pre", "post")}
        if kind == "olmo2":
            shapes |= {f"{prefix}post_feedforward_layernorm.weight": (hidden,), f"{prefix}self_attn.q_norm.weight": (query,),
                       f"{prefix}self_attn.k_norm.weight": (key,)}
            del shapes[f"{prefix}input_layernorm.weight"]
        if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
            shapes |= {f"{prefix}self_attn.q_norm.weight": (dim,), f"{prefix}self_attn.k_norm.weight": (dim,)}
    return shapes


def delta_net_layer(config, prefix, layer):
    hidden, dim, kind = config["hidden_size"], config["head_dim"], config["model_type"]
    query, key = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    heads, width = config["linear_num_value_heads"], config["linear_value_head_dim"]
    keys, values = config["linear_num_key_heads"] * config["linear_key_head_dim"], heads * width
    shapes = {"input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,)}
    if config["layer_types"][layer] == "full_attention":
        projections = {"q_proj": (2 * query, hidden), "k_proj": (key, hidden), "v_proj": (key, hidden), "o_proj": (hidden, query),
                       "q_norm": (dim,), "k_norm": (dim,)}
        shapes |= {f"self_attn.{name}.weight": shape for name, shape in projections.items()}
    else:
        inputs = {"in_proj_qkvz": 2 * (keys + values), "in_proj_ba": 2 * heads} if kind == "qwen3_next" else {
            "in_proj_qkv": 2 * keys + values, "in_proj_z": values, "in_proj_b": heads, "in_proj_a": heads}
        shapes |= {f"linear_attn.{name}.weight": (rows, hidden) for name, rows in inputs.items()}
        shapes |= {"linear_attn.conv1d.weight": (2 * keys + values, 1, 4), "linear_attn.norm.weight": (width,),
                   "linear_attn.out_proj.weight": (hidden, values), "linear_attn.A_log": (heads,), "linear_attn.dt_bias": (heads,)}
    mlp = {"gate_proj": (config["intermediate_size"], hidden), "up_proj": (config["intermediate_size"], hidden),
           "down_proj": (hidden, config["intermediate_size"])}
    if kind == "qwen3_next":
        inner = config["shared_expert_intermediate_size"]
        mlp = expert_shapes(config, ("gate_proj", "up_proj", "down_proj")) | {
            "shared_expert.gate_proj": (inner, hidden), "shared_expert.up_proj": (inner, hidden), "shared_expert.down_proj": (hidden, inner),
            "shared_expert_gate": (1, hidden)}
    shapes |= {f"mlp.{name}.weight": shape for name, shape in mlp.items()}
    return {prefix + name: shape for name, shape in shapes.items()}


def zaya_layer(config, prefix, layer):
    hidden, inner, count, router = (config[key] for key in ("hidden_size", "moe_intermediate_size", "num_experts", "router_hidden_size"))
    dim = config["head_dim"]
    query, key = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    projections = {"self_attn.qkv_proj.q_proj": (query, hidden), "self_attn.qkv_proj.k_proj": (key, hidden),
                   "self_attn.qkv_proj.v_proj_current": (key // 2, hidden), "self_attn.qkv_proj.v_proj_delayed": (key // 2, hidden),
                   "self_attn.o_proj": (hidden, query), "mlp.gate.router_mlp.out_proj": (count + 1, router), "input_layernorm": (hidden,),
                   "post_attention_layernorm": (hidden,), "mlp.gate.router_mlp.norm": (router,)}
    with_bias = {"self_attn.qkv_proj.conv_qk_depthwise": (query + key, 1, 2), "self_attn.qkv_proj.conv_qk_grouped": (query + key, dim, 2),
                 "mlp.gate.down_proj": (router, hidden), "mlp.gate.router_mlp.fc1": (router, router), "mlp.gate.router_mlp.fc2": (router, router)}
    shapes = {f"{name}.weight": shape for name, shape in (projections | with_bias).items()}
    shapes |= {f"{name}.bias": shape[:1] for name, shape in with_bias.items()}
    shapes |= {"self_attn.qk_norm.temp": (config["num_key_value_heads"],), "mlp.gate.balancing_biases": (count + 1,),
               "mlp.experts.gate_up_proj": (count, 2 * inner, hidden), "mlp.experts.down_proj": (count, hidden, inner)}
    if layer > 0:
        shapes["mlp.gate.router_states_scale"] = (router,)
    for scale in ("post_attention_residual_scale", "post_mlp_residual_scale"):
        for part in ("hidden_states", "residual"):
            shapes |= {f"{scale}.{part}_scale": (hidden,), f"{scale}.{part}_bias": (hidden,)}
    return {prefix + name: shape for name, shape in shapes.items()} | {
        "model.input_hidden_states_scale": (hidden,), "model.input_hidden_states_bias": (hidden,)}


def gemma4_layer(config, prefix, layer):
    hidden, inner, own = config["hidden_size"], config["intermediate_size"], config["hidden_size_per_layer_input"]
    dim = config["head_dim" if config["layer_types"][layer] == "sliding_attention" else "global_head_dim"]
    query, key = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    shapes = {"self_attn.q_proj": (query, hidden), "self_attn.k_proj": (key, hidden), "self_attn.v_proj": (key, hidden),
              "self_attn.o_proj": (hidden, query), "self_attn.q_norm": (dim,), "self_attn.k_norm": (dim,), "mlp.gate_proj": (inner, hidden),
              "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner), "per_layer_input_gate": (own, hidden),
              "per_layer_projection": (hidden, own)}
    shapes |= {name: (hidden,) for name in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                                            "post_feedforward_layernorm", "post_per_layer_input_norm")}
    layers = config["num_hidden_layers"]
    return {f"{prefix}{name}.weight": shape for name, shape in shapes.items()} | {
        f"{prefix}layer_scalar": (1,), "model.embed_tokens_per_layer.weight": (config["vocab_size"], layers * own),
        "model.per_layer_model_projection.weight": (layers * own, hidden), "model.per_layer_projection_norm.weight": (own,)}


def write_checkpoint(folder, form, dtype=np.float32):
    """Writes the form's config.json and model.safetensors; returns the tensors."""
    config = COMMON | FORMS[form]
    random = np.random.default_rng(5)
    tensors = {name: (random.standard_normal(shape) * 0.2).astype(dtype) for name, shape in shapes_of(config).items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return tensors

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr GgufArchitecture kArchitectures[] = {
    {.name = "llama", .model_type = "llama", .has_paired_rows = true},
    {.name = "qwen2", .model_type = "qwen2"},
    {.name = "qwen3", .model_type = "qwen3"},
    {.name = "smollm3", .model_type = "smollm3", .has_paired_rows = true},
};

// Keys without an influence on the numbers that are computed here.
constexpr std::string_view kIgnoredKeys[] = {"vocab_size", "rope.scaling.finetuned",
                                             "tensor_data_layout"};

// Reads the keys "<architecture>.<name>" and remembers which were asked for.
class ConfigReader {
 public:
  ConfigReader(const GgufFile& file, std::string_view architecture)
      : file_(file), metadata_(file.metadata()), prefix_(std::string(architecture) + ".") {}

  Result<Json> read(const GgufArchitecture& architecture) {
    Json json = {{"model_type", architecture.model_type}};
    ANEMONE_RETURN_IF_ERROR(read_sizes(json));
    ANEMONE_RETURN_IF_ERROR(read_rope(json));
    ANEMONE_RETURN_IF_ERROR(read_token_ids(json));
    const auto window = optional_size("attention.sliding_window");
    if (!window.ok()) return window.status();
    if (window->has_value() && **window > 0) {
      if (architecture.model_type != "llama")
        return unsupported("[{}] expected no {}attention.sliding_window, got {}", file_.path(),
                           prefix_, **window);
      // Llama with a window on every layer is Mistral.
      json["model_type"] = "mistral";
      json["sliding_window"] = **window;
    }
    json["tie_word_embeddings"] = file_.find("output.weight") == nullptr;
    json["attention_bias"] = file_.find("blk.0.attn_q.bias") != nullptr;
    json["mlp_bias"] = file_.find("blk.0.ffn_up.bias") != nullptr;
    ANEMONE_RETURN_IF_ERROR(refuse_the_rest());
    return json;
  }

 private:
  std::string key(std::string_view name) {
    std::string full = prefix_ + std::string(name);
    known_.insert(full);
    return full;
  }

  // A number, or an array of the same number for each layer.
  Result<std::optional<std::int64_t>> optional_size(std::string_view name) {
    const std::string full = key(name);
    const Value* value = metadata_.find(full);
    if (value == nullptr || !value->is_array) return metadata_.integer(full);
    ANEMONE_ASSIGN_OR_RETURN(const auto items, metadata_.integers(full));
    if (items->empty() ||
        std::ranges::count(*items, items->front()) != static_cast<std::ptrdiff_t>(items->size()))
      return unsupported("[{}] expected {} to be the same for every layer", file_.path(), full);
    return std::optional(items->front());
  }

  Result<std::int64_t> size(std::string_view name) {
    ANEMONE_ASSIGN_OR_RETURN(const auto value, optional_size(name));
    if (!value)
      return parse_error("[{}] expected a metadata value {}{}, got none", file_.path(), prefix_,
                         name);
    return *value;
  }

  Status read_sizes(Json& json) {
    ANEMONE_ASSIGN_OR_RETURN(json["hidden_size"], size("embedding_length"));
    ANEMONE_ASSIGN_OR_RETURN(json["num_hidden_layers"], size("block_count"));
    ANEMONE_ASSIGN_OR_RETURN(json["intermediate_size"], size("feed_forward_length"));
    ANEMONE_ASSIGN_OR_RETURN(json["max_position_embeddings"], size("context_length"));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t heads, size("attention.head_count"));
    ANEMONE_ASSIGN_OR_RETURN(const auto kv_heads, optional_size("attention.head_count_kv"));
    json["num_attention_heads"] = heads;
    json["num_key_value_heads"] = kv_heads.value_or(heads);
    const TensorInfo* embedding = file_.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
      return corrupt("[{}] expected a matrix token_embd.weight, got none", file_.path());
    json["vocab_size"] = embedding->shape.front();

    if (heads < 1)
      return parse_error("[{}] expected {}attention.head_count of at least 1, got {}", file_.path(),
                         prefix_, heads);
    ANEMONE_ASSIGN_OR_RETURN(const auto key_length, optional_size("attention.key_length"));
    const std::int64_t head_dim =
        key_length.value_or(json["hidden_size"].get<std::int64_t>() / heads);
    json["head_dim"] = head_dim;
    for (const char* name : {"attention.value_length", "rope.dimension_count"}) {
      ANEMONE_ASSIGN_OR_RETURN(const auto given, optional_size(name));
      if (given && *given != head_dim)
        return unsupported("[{}] expected {}{} to be {}, the length of a head, got {}",
                           file_.path(), prefix_, name, head_dim, *given);
    }
    ANEMONE_ASSIGN_OR_RETURN(const auto eps,
                             metadata_.number(key("attention.layer_norm_rms_epsilon")));
    if (!eps)
      return parse_error("[{}] expected a metadata value {}attention.layer_norm_rms_epsilon",
                         file_.path(), prefix_);
    json["rms_norm_eps"] = *eps;
    return {};
  }

  // rope_freqs.weight: what each frequency is divided by (Llama 3).
  Result<std::vector<float>> divisors(std::int64_t head_dim) {
    const TensorInfo* tensor = file_.find("rope_freqs.weight");
    std::vector<float> out;
    if (tensor == nullptr) return out;
    if (tensor->type->plain != DType::kFp32 || tensor->shape != Shape{head_dim / 2})
      return corrupt("[{}] expected rope_freqs.weight to be {} floats (F32), got {} of {}",
                     file_.path(), head_dim / 2, tensor->type->name, to_string(tensor->shape));
    out.resize(static_cast<std::size_t>(head_dim / 2));
    WeightRef weight;
    weight.shape = tensor->shape;
    weight.bytes = tensor->bytes;
    read_floats(weight, 0, out);
    for (const float divisor : out)
      if (!(divisor > 0) || !std::isfinite(divisor))
        return corrupt("[{}] expected positive rope_freqs.weight, got {}", file_.path(), divisor);
    return out;
  }

  Status read_rope(Json& json) {
    ANEMONE_ASSIGN_OR_RETURN(const auto theta, metadata_.number(key("rope.freq_base")));
    json["rope_theta"] = theta.value_or(10000);
    ANEMONE_ASSIGN_OR_RETURN(const auto type, metadata_.text(key("rope.scaling.type")));
    ANEMONE_ASSIGN_OR_RETURN(const auto factors, divisors(json["head_dim"].get<std::int64_t>()));
    Json scaling = Json::object();
    const auto number = [&](std::string_view name, const char* as) -> Status {
      ANEMONE_ASSIGN_OR_RETURN(const auto value, metadata_.number(key(name)));
      if (value) scaling[as] = *value;
      return {};
    };
    ANEMONE_RETURN_IF_ERROR(number("rope.scaling.factor", "factor"));
    ANEMONE_RETURN_IF_ERROR(
        number("rope.scaling.original_context_length", "original_max_position_embeddings"));
    ANEMONE_RETURN_IF_ERROR(number("rope.scaling.yarn_beta_fast", "beta_fast"));
    ANEMONE_RETURN_IF_ERROR(number("rope.scaling.yarn_beta_slow", "beta_slow"));
    const std::string_view kind = type.value_or("none");
    if (kind == "none") {
      if (factors.empty()) return {};
      scaling = {{"rope_type", "divided"}, {"divisors", factors}};
    } else if ((kind == "linear" || kind == "yarn") && factors.empty()) {
      scaling["rope_type"] = kind;
    } else {
      return unsupported("[{}] expected {}rope.scaling.type to be none, linear or yarn{}, got {}",
                         file_.path(), prefix_,
                         factors.empty() ? "" : " (none beside rope_freqs.weight)", kind);
    }
    json["rope_scaling"] = std::move(scaling);
    return {};
  }

  Status read_token_ids(Json& json) {
    for (const char* name : {"bos_token_id", "eos_token_id"}) {
      ANEMONE_ASSIGN_OR_RETURN(const auto id,
                               metadata_.integer(fmt::format("tokenizer.ggml.{}", name)));
      json[name] = id ? Json(*id) : Json();
    }
    return {};
  }

  // Any other key of the architecture may change the numbers: no experts is what 0 of them means.
  Status refuse_the_rest() {
    for (const std::string_view name : kIgnoredKeys) known_.insert(prefix_ + std::string(name));
    for (const auto& [name, value] : metadata_.values()) {
      if (!name.starts_with(prefix_) || known_.contains(name)) continue;
      if (Metadata::describe(value) == "0") continue;
      return unsupported("[{}] expected no metadata value {}, which is not handled, got {}",
                         file_.path(), name, Metadata::describe(value));
    }
    return {};
  }

  const GgufFile& file_;
  const Metadata& metadata_;
  const std::string prefix_;
  std::set<std::string> known_;
};

struct NamePair {
  std::string_view gguf;
  std::string_view transformers;
};

constexpr NamePair kModelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

// After "blk.N." and "model.layers.N.".
constexpr NamePair kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

const NamePair* find_pair(std::span<const NamePair> pairs, std::string_view gguf) {
  const auto it = std::ranges::find(pairs, gguf, &NamePair::gguf);
  return it == pairs.end() ? nullptr : &*it;
}

// "blk.3.attn_q.weight" to "model.layers.3.self_attn.q_proj.weight"; empty when it is not known.
std::string transformers_name(std::string_view name, bool& is_query_or_key) {
  is_query_or_key = false;
  const std::size_t last = name.rfind('.');
  if (last == name.npos) return {};
  const std::string_view kind = name.substr(last);
  if (kind != ".weight" && kind != ".bias") return {};
  std::string_view stem = name.substr(0, last);
  if (!stem.starts_with("blk.")) {
    const NamePair* pair = find_pair(kModelNames, stem);
    return pair == nullptr ? "" : fmt::format("{}{}", pair->transformers, kind);
  }
  stem.remove_prefix(4);
  const std::size_t dot = stem.find('.');
  if (dot == stem.npos || dot == 0 || dot > 6) return {};
  const std::string_view layer = stem.substr(0, dot);
  if (layer.find_first_not_of("0123456789") != layer.npos) return {};
  const NamePair* pair = find_pair(kLayerNames, stem.substr(dot + 1));
  if (pair == nullptr) return {};
  is_query_or_key = pair->gguf == "attn_q" || pair->gguf == "attn_k";
  return fmt::format("model.layers.{}.{}{}", layer, pair->transformers, kind);
}

}  // namespace

Result<const GgufArchitecture*> find_architecture(const GgufFile& file) {
  ANEMONE_ASSIGN_OR_RETURN(const auto name, file.metadata().text("general.architecture"));
  std::string known;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (name && *name == architecture.name) return &architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  return unsupported("[{}] expected general.architecture to be one of {}, got {}", file.path(),
                     known, name ? fmt::format("\"{}\"", *name) : "none");
}

Result<HfConfig> make_config(const GgufFile& file, const GgufArchitecture& architecture) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, ConfigReader(file, architecture.name).read(architecture));
  return HfConfig::from_json(std::move(json), file.path());
}

Result<Json> make_generation_config(const GgufFile& file) {
  Json ends = Json::array();
  for (const char* name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    ANEMONE_ASSIGN_OR_RETURN(const auto id,
                             file.metadata().integer(fmt::format("tokenizer.ggml.{}", name)));
    if (id && std::ranges::find(ends, Json(*id)) == ends.end()) ends.push_back(*id);
  }
  Json json = Json::object();
  if (!ends.empty()) json["eos_token_id"] = std::move(ends);
  constexpr std::pair<const char*, const char*> kSampling[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"penalty_repeat", "repetition_penalty"},
  };
  for (const auto& [name, as] : kSampling) {
    const std::string key = fmt::format("general.sampling.{}", name);
    ANEMONE_ASSIGN_OR_RETURN(const auto value, file.metadata().number(key));
    if (!value) continue;
    const bool is_whole = std::string_view(name) == "top_k";
    if (is_whole) {
      ANEMONE_ASSIGN_OR_RETURN(const auto whole, file.metadata().integer(key));
      json[as] = *whole;
    } else {
      json[as] = *value;
    }
  }
  // The converter writes these where the model is meant to be sampled.
  if (json.contains("temperature")) json["do_sample"] = true;
  return json;
}

Result<std::vector<TensorMapping>> map_tensors(const GgufFile& file,
                                               const GgufArchitecture& architecture,
                                               const HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t head_dim, config.size("head_dim"));
  std::vector<TensorMapping> mappings;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name == "rope_freqs.weight") continue;  // part of the configuration
    bool is_query_or_key = false;
    std::string as = transformers_name(name, is_query_or_key);
    if (as.empty())
      return unsupported("[{}] expected tensors of {} alone, got {}", file.path(),
                         architecture.name, name);
    TensorMapping mapping{&tensor, std::move(as), 0};
    if (architecture.has_paired_rows && is_query_or_key) {
      if (tensor.shape.empty() || tensor.shape.size() > 2 || head_dim % 2 != 0 ||
          tensor.shape.front() % head_dim != 0)
        return corrupt("[{}] expected the rows of {} to be a multiple of {}, got the shape {}",
                       file.path(), name, head_dim, to_string(tensor.shape));
      mapping.head_rows = head_dim;
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace anemone::checkpoint::gguf

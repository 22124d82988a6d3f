// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/named_decoder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace anemone::checkpoint::onnx {
namespace {

constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeads = 65536;
constexpr float kUsualEpsilon = 1e-5F;

class NamedDecoder {
 public:
  NamedDecoder(const OnnxGraph& graph, const Json& settings) : graph_(graph), settings_(settings) {}

  Result<DecoderGraph> read() {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t layers, size("num_hidden_layers", kMaxLayers));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t hidden, size("hidden_size", 1 << 30));
    ANEMONE_ASSIGN_OR_RETURN(out_.heads, size("num_attention_heads", kMaxHeads));
    ANEMONE_ASSIGN_OR_RETURN(out_.kv_heads, size("num_key_value_heads", kMaxHeads));
    ANEMONE_ASSIGN_OR_RETURN(out_.head_dim, size("head_size", kMaxHeads));
    ANEMONE_ASSIGN_OR_RETURN(out_.embedding,
                             read_named_matrix(graph_, "model.embed_tokens", hidden));
    for (std::int64_t i = 0; i < layers; ++i)
      ANEMONE_RETURN_IF_ERROR(read_layer(fmt::format("model.layers.{}.", i), hidden));
    ANEMONE_ASSIGN_OR_RETURN(out_.final_norm, constant("model.norm.weight"));
    auto head = read_projection("lm_head", hidden);
    out_.is_tied = head.status().code() == Code::kNotFound;
    if (!head.ok() && !out_.is_tied) return head.status();
    out_.head = out_.is_tied ? Projection{.matrix = out_.embedding} : std::move(head).value();
    ANEMONE_ASSIGN_OR_RETURN(out_.cos, constant("model.layers.0.self_attn.cos_cached_export"));
    ANEMONE_ASSIGN_OR_RETURN(out_.sin, constant("model.layers.0.self_attn.sin_cached_export"));
    float epsilon = kUsualEpsilon;
    for (const Node& node : graph_.nodes())
      if (node.op.ends_with("SimplifiedLayerNormalization"))
        epsilon = node.number("epsilon", kUsualEpsilon);
    out_.norm_epsilon = static_cast<double>(epsilon);
    return std::move(out_);
  }

 private:
  Result<std::int64_t> size(const char* key, std::int64_t most) const {
    ANEMONE_ASSIGN_OR_RETURN(const auto value, json_int(settings_, key, "genai_config.json"));
    if (value && *value >= 1 && *value <= most) return *value;
    return parse_error("[genai_config.json] expected model.decoder.{} from 1 to {}, got {}", key,
                       most, value ? std::to_string(*value) : "none");
  }

  Result<const Constant*> constant(const std::string& name) const {
    const Constant* found = graph_.constant(name);
    if (found != nullptr && found->is_float()) return found;
    return not_found("[{}] expected floats named {}, got none", graph_.path(), name);
  }

  Result<Projection> read_projection(const std::string& name, std::int64_t columns) const {
    Projection out;
    ANEMONE_ASSIGN_OR_RETURN(out.matrix, read_named_matrix(graph_, name, columns));
    out.bias = graph_.constant(name + ".bias");
    if (out.bias != nullptr && (out.bias->shape != Shape{out.matrix.rows} || !out.bias->is_float()))
      return corrupt("[{}] expected {} floats in {}.bias", graph_.path(), out.matrix.rows, name);
    return out;
  }

  struct Named {
    const char* name;
    Projection* out;
    std::int64_t rows;  // in the matrix of all; 0: an equal part
  };
  // Reads projections of one input, which are one matrix or have a name each.
  Status read_together(const std::string& at, const char* name_of_all, std::int64_t columns,
                       const std::vector<Named>& projections) const {
    const auto all = read_projection(at + name_of_all, columns);
    if (all.status().code() == Code::kNotFound) {
      for (const Named& each : projections) {
        ANEMONE_ASSIGN_OR_RETURN(*each.out, read_projection(at + each.name, columns));
      }
      return {};
    }
    if (!all.ok()) return all.status();
    const std::int64_t rows = all->matrix.rows;
    std::int64_t wanted = 0;
    for (const Named& each : projections) wanted += each.rows;
    const auto count = static_cast<std::int64_t>(projections.size());
    if (wanted == 0 ? rows % count != 0 : rows != wanted)
      return corrupt("[{}] expected {} in {}{}, got {}", graph_.path(),
                     wanted == 0 ? fmt::format("a multiple of {} rows", count)
                                 : fmt::format("{} rows", wanted),
                     at, name_of_all, rows);
    std::int64_t first = 0;
    for (const Named& each : projections) {
      const std::int64_t own = each.rows == 0 ? rows / count : each.rows;
      *each.out = {all->matrix.part(first, own), all->bias, first};
      first += own;
    }
    return {};
  }

  Status read_layer(const std::string& at, std::int64_t hidden) {
    DecoderLayer layer;
    ANEMONE_ASSIGN_OR_RETURN(layer.input_norm, constant(at + "input_layernorm.weight"));
    ANEMONE_ASSIGN_OR_RETURN(layer.post_attention_norm,
                             constant(at + "post_attention_layernorm.weight"));
    layer.q_norm = graph_.constant(at + "self_attn.q_norm.weight");
    layer.k_norm = graph_.constant(at + "self_attn.k_norm.weight");
    const std::int64_t q_rows = out_.heads * out_.head_dim;
    const std::int64_t kv_rows = out_.kv_heads * out_.head_dim;
    ANEMONE_RETURN_IF_ERROR(read_together(at, "self_attn.qkv_proj", hidden,
                                          {{"self_attn.q_proj", &layer.q, q_rows},
                                           {"self_attn.k_proj", &layer.k, kv_rows},
                                           {"self_attn.v_proj", &layer.v, kv_rows}}));
    ANEMONE_ASSIGN_OR_RETURN(layer.o,
                             read_projection(at + "self_attn.o_proj", out_.heads * out_.head_dim));
    ANEMONE_RETURN_IF_ERROR(
        read_together(at, "mlp.gate_up_proj", hidden,
                      {{"mlp.gate_proj", &layer.gate, 0}, {"mlp.up_proj", &layer.up, 0}}));
    ANEMONE_ASSIGN_OR_RETURN(layer.down,
                             read_projection(at + "mlp.down_proj", layer.gate.matrix.rows));
    out_.layers.push_back(std::move(layer));
    return {};
  }

  const OnnxGraph& graph_;
  const Json& settings_;
  DecoderGraph out_;
};

}  // namespace

Result<DecoderGraph> read_named_decoder(const OnnxGraph& graph, const Json& settings) {
  return NamedDecoder(graph, settings).read();
}

}  // namespace anemone::checkpoint::onnx

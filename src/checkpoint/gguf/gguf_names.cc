// SPDX-License-Identifier: Apache-2.0
// Which tensor of a GGUF file is which of transformers.
#include <algorithm>

#include "base/error.h"
#include "checkpoint/gguf/gguf_architecture.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr NamePair kUsualNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

// They are part of the configuration.
constexpr std::string_view kFactors[] = {"rope_freqs.weight", "rope_factors_short.weight",
                                         "rope_factors_long.weight"};

const NamePair* find_pair(std::span<const NamePair> pairs, std::string_view gguf) {
  const auto it = std::ranges::find(pairs, gguf, &NamePair::gguf);
  return it == pairs.end() ? nullptr : &*it;
}

struct TensorName {
  std::string_view layer = {};  // "3"; empty beside the layers
  std::int64_t number = 0;      // of the layer
  std::string_view stem = {};   // "attn_q", "ffn_gate_inp.scale", "ssm_a"
  std::string_view kind = {};   // ".weight", ".bias" or nothing
};

// "blk.3.attn_q.weight"; nullopt for names of another form.
std::optional<TensorName> split_name(std::string_view name) {
  TensorName out{.stem = name};
  for (const std::string_view kind : {".weight", ".bias"})
    if (name.ends_with(kind))
      out = {.stem = name.substr(0, name.size() - kind.size()), .kind = kind};
  if (!out.stem.starts_with("blk.")) return out;
  out.stem.remove_prefix(4);
  const std::size_t dot = out.stem.find('.');
  if (dot == out.stem.npos || dot == 0 || dot > 6) return std::nullopt;
  out.layer = out.stem.substr(0, dot);
  out.stem.remove_prefix(dot + 1);
  if (out.layer.find_first_not_of("0123456789") != out.layer.npos) return std::nullopt;
  for (const char digit : out.layer) out.number = 10 * out.number + (digit - '0');
  return out;
}

// Empty when it is not known.
std::string transformers_name(const TensorName& name, const GgufArchitecture& architecture) {
  const NamePair* pair = find_pair(architecture.names, name.stem);
  if (pair == nullptr) pair = find_pair(kUsualNames, name.stem);
  if (pair == nullptr) return {};
  const std::string_view kind = pair->is_whole ? "" : name.kind;
  if (name.layer.empty()) return fmt::format("{}{}", pair->transformers, kind);
  return fmt::format("model.layers.{}.{}{}", name.layer, pair->transformers, kind);
}

// One mapping for each matrix, or bias, of a stack; `mapping` has "{}" in its name.
Status add_experts(const GgufFile& file, const TensorMapping& mapping,
                   std::vector<TensorMapping>& out) {
  const TensorInfo& tensor = *mapping.tensor;
  const bool is_bias = mapping.name.ends_with(".bias");
  if (tensor.shape.size() != (is_bias ? 2 : 3))
    return corrupt("[{}] expected {} to be a stack of {}, got the shape {}", file.path(),
                   tensor.name, is_bias ? "vectors" : "matrices", to_string(tensor.shape));
  const std::size_t place = mapping.name.find("{}");
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i) {
    TensorMapping& one = out.emplace_back(mapping);
    one.name.replace(place, 2, std::to_string(i));
    one.matrix = i;
  }
  return {};
}

// Checks that the rows of q or k are whole heads, and that those of a head are pairs.
Status check_paired_rows(const GgufFile& file, const TensorInfo& tensor, std::int64_t head_dim) {
  if (head_dim % 2 != 0)
    return corrupt("[{}] expected an even head_dim, because {} has its rows in pairs, got {}",
                   file.path(), tensor.name, head_dim);
  if (tensor.shape.empty() || tensor.shape.size() > 2)
    return corrupt("[{}] expected {} to be a matrix or a vector, got the shape {}", file.path(),
                   tensor.name, to_string(tensor.shape));
  if (tensor.shape.front() % head_dim != 0)
    return corrupt(
        "[{}] expected the number of rows of {} to be a multiple of the head_dim {}, got {} (shape "
        "{})",
        file.path(), tensor.name, head_dim, tensor.shape.front(), to_string(tensor.shape));
  return {};
}

}  // namespace

Result<std::vector<TensorMapping>> map_tensors(const GgufFile& file,
                                               const GgufArchitecture& architecture,
                                               const HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t head_dim, config.size("head_dim"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t layers, config.size("num_hidden_layers"));
  ANEMONE_ASSIGN_OR_RETURN(
      const auto blocks, file.metadata().integer(fmt::format("{}.block_count", architecture.name)));
  std::vector<TensorMapping> mappings;
  for (const auto& [name, tensor] : file.tensors()) {
    if (std::ranges::find(kFactors, name) != std::end(kFactors)) continue;
    const auto parts = split_name(name);
    // Blocks after the last layer are no layers of the decoder (they predict further tokens, for
    // example).
    if (parts && parts->number >= layers && parts->number < blocks.value_or(0)) continue;
    TensorMapping mapping{.tensor = &tensor};
    if (parts) mapping.name = transformers_name(*parts, architecture);
    if (mapping.name.empty())
      return unsupported("[{}] expected tensors of {} alone, got {}", file.path(),
                         architecture.name, name);
    if (architecture.has_paired_rows && (parts->stem == "attn_q" || parts->stem == "attn_k")) {
      ANEMONE_RETURN_IF_ERROR(check_paired_rows(file, tensor, head_dim));
      mapping.head_rows = head_dim;
    }
    mapping.is_negative_exp = parts->stem == "ssm_a";
    if (parts->stem.ends_with("_norm") && parts->stem != "ssm_norm")
      mapping.offset = -architecture.norm_offset;
    if (mapping.is_changed() && !tensor.type->plain)
      return unsupported("[{}] expected {} to be floats, got {}", file.path(), name,
                         tensor.type->name);
    // One tap of every channel after the other; transformers has a dimension between them.
    if ((parts->stem == "shortconv.conv" || parts->stem == "ssm_conv1d") &&
        tensor.shape.size() == 2)
      mapping.shape = {tensor.shape[0], 1, tensor.shape[1]};
    if (mapping.name.find("{}") != mapping.name.npos) {
      ANEMONE_RETURN_IF_ERROR(add_experts(file, mapping, mappings));
      continue;
    }
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

}  // namespace anemone::checkpoint::gguf

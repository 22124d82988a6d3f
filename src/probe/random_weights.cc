// SPDX-License-Identifier: Apache-2.0
#include "probe/random_weights.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace anemone::probe {
namespace {

// SplitMix64.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  double next() {  // from 0 to 1
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

constexpr std::int64_t kVocabulary = 1024;  // the head is small: these probes are of layers

std::vector<checkpoint::NamedType> tensors_of(const Sizes& s) {
  std::vector<checkpoint::NamedType> out;
  const auto add = [&](std::string name, Shape shape) {
    out.push_back({std::move(name), DType::kFp16, std::move(shape)});
  };
  const std::int64_t kv = s.kv_heads * s.head_dim();
  add("model.embed_tokens.weight", {kVocabulary, s.hidden});
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    add(layer + "input_layernorm.weight", {s.hidden});
    add(layer + "self_attn.q_proj.weight", {s.hidden, s.hidden});
    add(layer + "self_attn.q_proj.bias", {s.hidden});
    add(layer + "self_attn.k_proj.weight", {kv, s.hidden});
    add(layer + "self_attn.k_proj.bias", {kv});
    add(layer + "self_attn.v_proj.weight", {kv, s.hidden});
    add(layer + "self_attn.v_proj.bias", {kv});
    add(layer + "self_attn.o_proj.weight", {s.hidden, s.hidden});
    add(layer + "post_attention_layernorm.weight", {s.hidden});
    add(layer + "mlp.gate_proj.weight", {s.intermediate, s.hidden});
    add(layer + "mlp.up_proj.weight", {s.intermediate, s.hidden});
    add(layer + "mlp.down_proj.weight", {s.hidden, s.intermediate});
  }
  add("model.norm.weight", {s.hidden});
  return out;
}

}  // namespace

double weight_bound(std::int64_t inputs) {
  return std::sqrt(3.0 / static_cast<double>(inputs));
}

Tensor random_tensor(DType dtype, const Shape& shape, double bound, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& each : values) each = static_cast<float>((2 * numbers.next() - 1) * bound);
  Tensor out(dtype, shape);
  store_floats(values, out.mutable_view());
  return out;
}

Status write_random_config(const std::string& folder, const Sizes& sizes,
                           std::optional<std::int64_t> window) {
  Json config = {{"model_type", "qwen2"},
                 {"vocab_size", kVocabulary},
                 {"hidden_size", sizes.hidden},
                 {"intermediate_size", sizes.intermediate},
                 {"num_hidden_layers", sizes.layers},
                 {"num_attention_heads", sizes.heads},
                 {"num_key_value_heads", sizes.kv_heads},
                 {"hidden_act", "silu"},
                 {"max_position_embeddings", sizes.context},
                 {"rms_norm_eps", 1e-6},
                 {"rope_theta", 10000.0},
                 {"use_sliding_window", window.has_value()},
                 {"max_window_layers", sizes.layers / 2},
                 {"tie_word_embeddings", true}};
  if (window) config["sliding_window"] = *window;
  return write_file(folder + "/config.json", config.dump(2));
}

Status write_random_weights(const std::string& folder, const Sizes& sizes, std::uint64_t seed) {
  const auto tensors = tensors_of(sizes);
  ANEMONE_ASSIGN_OR_RETURN(
      auto writer, checkpoint::SafetensorsWriter::create(folder + "/model.safetensors", tensors));
  for (const checkpoint::NamedType& each : tensors) {
    const Tensor values =
        random_tensor(each.dtype, each.shape,
                      weight_bound(each.shape.size() == 2 ? each.shape[1] : 3), ++seed * 1000003);
    ANEMONE_RETURN_IF_ERROR(writer.append(values.view().bytes()));
  }
  return writer.commit();
}

}  // namespace anemone::probe

// SPDX-License-Identifier: Apache-2.0
// What the tests of configurations have in common.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/hf_config.h"
#include "models/architecture.h"

namespace anemone::models::testing {

inline Result<DecoderConfig> read(Json json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto config,
                           checkpoint::HfConfig::from_json(std::move(json), "config.json"));
  ANEMONE_ASSIGN_OR_RETURN(const Architecture* architecture,
                           find_architecture(config.model_type()));
  return architecture->read_config(config);
}

inline Json tiny(const std::string& type) {
  return {{"model_type", type},      {"vocab_size", 96},       {"hidden_size", 48},
          {"intermediate_size", 80}, {"num_hidden_layers", 4}, {"num_attention_heads", 4}};
}

inline std::vector<std::int64_t> windows(const DecoderConfig& config) {
  std::vector<std::int64_t> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.window);
  return out;
}

inline std::vector<bool> ropes(const DecoderConfig& config) {
  std::vector<bool> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.has_rope);
  return out;
}

inline std::vector<bool> sparse_layers(const DecoderConfig& config) {
  std::vector<bool> out;
  for (const LayerConfig& layer : config.layers) out.push_back(layer.has_experts);
  return out;
}

}  // namespace anemone::models::testing

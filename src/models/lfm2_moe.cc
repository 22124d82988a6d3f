// SPDX-License-Identifier: Apache-2.0
// Lfm2MoeForCausalLM (LFM2-8B-A1B and others): the operators of LFM2; after the first layers
// experts in the place of the MLP, which sigmoids select, with a bias for the selection alone.
#include <algorithm>
#include <utility>

#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"
#include "models/lfm2.h"

namespace anemone::models {
namespace {

Result<DecoderConfig> read_lfm2_moe_config(const checkpoint::HfConfig& config) {
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder, read_lfm2_common(config, 2048, 7168));
  ANEMONE_RETURN_IF_ERROR(read_lfm2_layer_types(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(ExpertsConfig experts,
                           read_experts(config, {.count = 32, .active = 4, .width = 1792}));
  experts.score = ExpertsConfig::Score::kSigmoid;
  ANEMONE_ASSIGN_OR_RETURN(experts.is_normalized, config.boolean("norm_topk_prob", true));
  experts.sum_epsilon = 1e-6;
  ANEMONE_ASSIGN_OR_RETURN(experts.scale, config.number("routed_scaling_factor", 1));
  ANEMONE_ASSIGN_OR_RETURN(const bool has_bias, config.boolean("use_expert_bias", true));
  if (has_bias) experts.selection_bias = "expert_bias";
  experts.gate_up = {"w1", "w3"};
  experts.down = "w2";
  decoder.experts = std::move(experts);
  // None is a number here.
  ANEMONE_RETURN_IF_ERROR(config.refuse_null("num_dense_layers"));
  ANEMONE_ASSIGN_OR_RETURN(const auto dense, config.optional_integer("num_dense_layers"));
  for (std::int64_t i = std::max<std::int64_t>(0, dense.value_or(2)); i < decoder.num_layers(); ++i)
    decoder.layers[static_cast<std::size_t>(i)].has_experts = true;
  return decoder;
}

}  // namespace

extern const Architecture kLfm2Moe;
const Architecture kLfm2Moe = {"lfm2_moe", read_lfm2_moe_config, decoder_layer};

}  // namespace anemone::models

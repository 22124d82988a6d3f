// SPDX-License-Identifier: Apache-2.0
// HunYuanDenseV1ForCausalLM (Hunyuan dense, HY-MT): an RMS norm on each query and key head after
// the rotary embedding, whose base is stretched by a fixed alpha.
#include <cmath>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"

namespace anemone::models {
namespace {

// Files call it "dynamic", but with alpha the frequencies do not depend on the length:
// theta' = theta * alpha^(dim / (dim - 2)).
Status adjust_hunyuan_rope(const checkpoint::HfConfig& config, std::int64_t dim,
                           checkpoint::RopeSettings& settings) {
  ANEMONE_ASSIGN_OR_RETURN(const auto alpha, settings.number("alpha"));
  if (settings.type != "dynamic" || alpha.value_or(0) == 0) return {};
  if (!(*alpha > 0))
    return parse_error("[{}] expected alpha to be positive, got {}", config.subject(), *alpha);
  if (dim == 2)
    return parse_error("[{}] expected head_dim above 2 for a rope with alpha, got 2",
                       config.subject());
  settings.theta *= std::pow(*alpha, static_cast<double>(dim) / static_cast<double>(dim - 2));
  settings.type = "default";
  return {};
}

Result<DecoderConfig> read_hunyuan_config(const checkpoint::HfConfig& config) {
  // The class has no default that works.
  ANEMONE_RETURN_IF_ERROR(config.size("head_dim").status());
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 290943,
                                                       .hidden_size = 4096,
                                                       .intermediate_size = 11008,
                                                       .num_layers = 32,
                                                       .num_heads = 32,
                                                       .max_position = 2048,
                                                       .rms_norm_eps = 1e-5,
                                                       .adjust_rope = adjust_hunyuan_rope,
                                                       .bos_id = 1,
                                                       .eos_id = 2}));
  // Files have both keys, but the class works with one value of each.
  ANEMONE_ASSIGN_OR_RETURN(const bool has_norm, config.boolean("use_qk_norm", true));
  ANEMONE_ASSIGN_OR_RETURN(const bool shares_keys, config.boolean("use_cla", false));
  if (!has_norm || shares_keys)
    return unsupported("[{}] expected {}, got {}", config.subject(),
                       has_norm ? "use_cla false" : "use_qk_norm true",
                       has_norm ? "true" : "false");
  decoder.qk_norm = QkNorm::kAfterRope;
  decoder.tensors.q_norm = "query_layernorm";
  decoder.tensors.k_norm = "key_layernorm";
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  return decoder;
}

}  // namespace

extern const Architecture kHunYuanDense;
const Architecture kHunYuanDense = {"hunyuan_v1_dense", read_hunyuan_config, decoder_layer};

}  // namespace anemone::models

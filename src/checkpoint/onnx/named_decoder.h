// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "base/json.h"
#include "checkpoint/onnx/decoder_graph.h"

namespace anemone::checkpoint::onnx {

// The decoder of a graph whose form is not known, by the names of its constants: those of
// transformers ("model.layers.0.self_attn.q_proj"), each ".weight", or blocks of integers
// ".matmul.backbone.weight_quantized" (or ".weight_quantized") [rows, blocks, bytes] with
// ".matmul.quantizers.weight.scale_for_export" (or ".quantizers.weight.scale_for_export") [rows *
// blocks]. Queries, keys and values may be one matrix, "self_attn.qkv_proj", one after the other,
// and gate and up "mlp.gate_up_proj", as Phi-3 has them. What it computes is taken to be what
// decoders of these names compute (DecoderGraph); `settings` is model.decoder of genai_config.json.
// kNotFound for a name that is missing, kParseError for settings without the number of layers or
// heads.
Result<DecoderGraph> read_named_decoder(const OnnxGraph& graph, const Json& settings);

}  // namespace anemone::checkpoint::onnx

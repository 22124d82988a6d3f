// SPDX-License-Identifier: Apache-2.0
// The registry of model architectures. One file per architecture says how its config.json is read
// and what its layer looks like, over the shared blocks in blocks/. docs/adding-a-model.md shows
// how to add one.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/hf_config.h"
#include "ir/program.h"
#include "models/decoder_config.h"

namespace anemone::models {

class LayerGraph;

struct Architecture {
  std::string_view model_type;  // transformers' model_type in config.json
  Result<DecoderConfig> (*read_config)(const checkpoint::HfConfig& config);
  // Layer `index`: hidden state in, hidden state out. nullptr after an error, which the builder
  // keeps.
  ir::Value* (*build_layer)(LayerGraph& graph, std::int64_t index, ir::Value* hidden);
};

// kUnsupported naming the known types when there is none of this name.
Result<const Architecture*> find_architecture(std::string_view model_type);
std::vector<std::string_view> architecture_names();

}  // namespace anemone::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace anemone::checkpoint::onnx {

// An ONNX Runtime GenAI bundle: a folder with genai_config.json, the model that it names and the
// files of its tokenizer. Sizes and weights come from the graph, token ids and the context from
// genai_config.json.
Result<Checkpoint> open_onnx_bundle(const std::string& folder);

// genai_config.json, the model and the files of its weights, with the folder before their names.
Result<std::vector<std::string>> onnx_bundle_files(const std::string& folder);

}  // namespace anemone::checkpoint::onnx

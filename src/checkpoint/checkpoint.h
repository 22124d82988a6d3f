// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/hf_config.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// A small file that text needs: tokenizer.json, tokenizer_config.json, ...
struct TextFile {
  std::string name;
  std::string content;
};

// A model as published: configuration and weights. Immutable, thread-safe.
struct Checkpoint {
  std::string path;  // as the user gave it
  HfConfig config;
  // generation_config.json, or an empty object: end-of-text ids and sampling defaults.
  JsonDocument generation;
  std::shared_ptr<const WeightSource> weights;
  std::vector<std::string> notes = {};  // of what its user should know
  bool has_weights = true;              // false: a configuration alone (open_for_planning)
  // Those that there are. Reads or makes them when it is called: a tokenizer may have 20 MB.
  std::function<Result<std::vector<TextFile>>()> text_files;
};

// Opens a Hugging Face folder (config.json + safetensors), or a GGUF file. A multimodal model gives
// its language model alone (language_model.h).
Result<Checkpoint> open_checkpoint(const std::string& path);

// Works like open_checkpoint, also for a folder with a config.json but no weights
// (planned_weights.h).
Result<Checkpoint> open_for_planning(const std::string& path);

// The tensors alone, under the names that the file has: a checkpoint folder, a .safetensors file or
// a GGUF file, told by how it begins.
Result<std::shared_ptr<const WeightSource>> open_tensors(const std::string& path);

}  // namespace anemone::checkpoint

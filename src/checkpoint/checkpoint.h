// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

#include "checkpoint/hf_config.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// A model as published: configuration and weights. Immutable, thread-safe.
struct Checkpoint {
  std::string path;  // as the user gave it
  HfConfig config;
  // generation_config.json, or an empty object: end-of-text ids and sampling defaults.
  Json generation = Json::object();
  std::shared_ptr<const WeightSource> weights;
};

// Stands for the content of a checkpoint folder: a hash of its config.json and of the names, sizes
// and times of its files, so that a change shows without reading the weights. 64 hex digits.
Result<std::string> fingerprint(const std::string& path);

// Opens a Hugging Face folder (config.json + safetensors).
Result<Checkpoint> open_checkpoint(const std::string& path);

// The tensors alone, under the names that the file has: a checkpoint folder, a .safetensors file or
// a GGUF file, told by how it begins.
Result<std::shared_ptr<const WeightSource>> open_tensors(const std::string& path);

}  // namespace anemone::checkpoint

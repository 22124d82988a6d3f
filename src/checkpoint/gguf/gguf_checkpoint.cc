// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/gguf/gguf_architecture.h"
#include "checkpoint/gguf/gguf_config.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/gguf/gguf_tokenizer.h"

namespace anemone::checkpoint::gguf {

Result<Checkpoint> open_gguf_checkpoint(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const auto file, GgufFile::open(path));
  ANEMONE_RETURN_IF_ERROR(file->check_has_weights());
  ANEMONE_ASSIGN_OR_RETURN(const GgufArchitecture* architecture, find_architecture(*file));
  Checkpoint checkpoint;
  checkpoint.path = path;
  ANEMONE_ASSIGN_OR_RETURN(checkpoint.config, make_config(*file, *architecture));
  ANEMONE_ASSIGN_OR_RETURN(checkpoint.generation, make_generation_config(*file));
  ANEMONE_ASSIGN_OR_RETURN(const auto mappings,
                           map_tensors(*file, *architecture, checkpoint.config));
  checkpoint.weights = make_source(file, mappings);
  checkpoint.text_files = [file] { return make_text_files(file->metadata()); };
  return checkpoint;
}

}  // namespace anemone::checkpoint::gguf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/hf_config.h"

namespace anemone::checkpoint::gguf {

// A general.architecture that is known. A new one is a row of the table in gguf_config.cc when its
// keys and tensors have the usual names.
struct GgufArchitecture {
  std::string_view name;
  std::string_view model_type;  // of transformers
  // Whether the rows of q and k heads are stored in pairs (TensorMapping::head_rows).
  bool has_paired_rows = false;
};

// kUnsupported, with those that are known, for any other.
Result<const GgufArchitecture*> find_architecture(const GgufFile& file);

// What config.json would say: sizes, rope, token ids. kUnsupported for a key of the architecture
// that would change the numbers and is not handled; kParseError and kCorrupt for damaged values.
Result<HfConfig> make_config(const GgufFile& file, const GgufArchitecture& architecture);

// What generation_config.json would say: the ids that end a text, sampling.
Result<Json> make_generation_config(const GgufFile& file);

// All tensors under the names of transformers. kUnsupported for one whose meaning is not known.
Result<std::vector<TensorMapping>> map_tensors(const GgufFile& file,
                                               const GgufArchitecture& architecture,
                                               const HfConfig& config);

}  // namespace anemone::checkpoint::gguf

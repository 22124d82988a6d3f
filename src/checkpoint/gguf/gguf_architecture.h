// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/gguf_keys.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/hf_config.h"

namespace anemone::checkpoint::gguf {

// A tensor's name there and here, without ".weight" and ".bias": of a layer what follows "blk.N."
// and "model.layers.N.". Here "{}" is the number of an expert, whose matrices are stacked there.
struct NamePair {
  std::string_view gguf;
  std::string_view transformers;
  bool is_whole = false;  // nothing follows it here
};

// A general.architecture that is known. A new one is a row of the table in gguf_architecture.cc;
// what is not said has the usual keys and names.
struct GgufArchitecture {
  std::string_view name;
  std::string_view model_type;  // of transformers
  // Whether the rows of q and k heads are stored in pairs (TensorMapping::head_rows).
  bool has_paired_rows = false;
  // Whether a part of a head may be rotated (rope.dimension_count).
  bool has_partial_rotary = false;
  // What the converter added to the weights of norms.
  float norm_offset = 0;
  // Names of tensors that are searched before the usual names and replace them.
  std::span<const NamePair> names = {};
  // Reads which layers have attention into "layer_types", before the heads are read.
  Status (*read_layers)(Keys& keys, Json& json) = nullptr;
  // Reads heads, ropes and the width of the MLP in place of the usual keys.
  Status (*read_attention)(Keys& keys, Json& json) = nullptr;
  // Reads keys of its own after the usual ones.
  Status (*read_more)(Keys& keys, Json& json) = nullptr;
};

// kUnsupported, with those that are known, for any other.
Result<const GgufArchitecture*> find_architecture(const GgufFile& file);

// All tensors under the names of transformers. kUnsupported for one whose meaning is not known.
Result<std::vector<TensorMapping>> map_tensors(const GgufFile& file,
                                               const GgufArchitecture& architecture,
                                               const HfConfig& config);

}  // namespace anemone::checkpoint::gguf

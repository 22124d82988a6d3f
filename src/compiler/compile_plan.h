// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ane/limits.h"
#include "ane/notch.h"
#include "ane/shard_plan.h"
#include "artifact/manifest.h"
#include "checkpoint/checkpoint.h"
#include "compiler/options.h"
#include "models/architecture.h"
#include "models/layer_graph.h"

namespace anemone::compiler {

// A package of layers, and what its constants take.
struct LayerShard {
  artifact::LayerSpan layers;
  std::uint64_t bytes = 0;
  // A package of some of the experts that the host runs after this shard.
  struct ExpertPack {
    ane::Range experts;
    std::uint64_t bytes = 0;
  };
  std::vector<ExpertPack> packs = {};
};

// Everything that is decided before a weight is read.
struct CompilePlan {
  const models::Architecture* architecture = nullptr;
  models::DecoderConfig config;
  CompileOptions options;                     // context and prefill clamped
  std::vector<artifact::Function> functions;  // the default one first
  std::vector<LayerShard> layer_shards;
  std::int64_t expert_layers = 0;  // layers whose experts are parts of their own (layer_plan.cc)
  std::uint64_t expert_bytes = 0;  // of the experts of these layers
  std::vector<std::int64_t> expert_widths;  // tokens of the functions of an expert, ascending
  // For each package of heads, the ranges of the vocabulary that its outputs give. One entry where
  // the heads are in the package of the last layers.
  std::vector<std::vector<ane::Range>> head_packages;
  std::string embedding_tensor;
  std::string layer_embedding_tensor = "model.embed_tokens_per_layer.weight";
  std::string head_tensor;
  std::uint64_t head_bytes = 0;       // of the vocabulary head
  std::uint64_t embed_bytes = 0;      // of the final norm in embed.mlpackage; 0: there is none
  std::uint64_t embedding_bytes = 0;  // embedding.bin; 0 when the heads hold the embeddings
  std::int64_t layer_embedding_columns = 0;  // of layer_embedding.bin; 0: there is none
  std::uint64_t layer_embedding_bytes = 0;
  std::vector<std::string> notes;

  // The value of GraphOptions::is_slow_product. Null unless the form avoids the notch and weights
  // are fp16: only those were measured.
  auto is_slow_product() const {
    return options.form.avoids_notch() && options.precision == DType::kFp16 ? &ane::is_slow_product
                                                                            : nullptr;
  }
  bool has_embed() const { return embed_bytes != 0; }
  // How a function of a package of layers or heads is built.
  models::GraphOptions graph_options(const artifact::Function& function) const;
  // Whether rows of embeddings are looked up in the heads' weights.
  bool heads_hold_embeddings() const { return embedding_bytes == 0; }
  std::uint64_t total_bytes() const {
    std::uint64_t bytes = head_bytes + embed_bytes + embedding_bytes + layer_embedding_bytes;
    for (const LayerShard& shard : layer_shards) {
      bytes += shard.bytes;
      for (const LayerShard::ExpertPack& pack : shard.packs) bytes += pack.bytes;
    }
    return bytes;
  }
};

Result<CompilePlan> make_compile_plan(const checkpoint::Checkpoint& checkpoint,
                                      const CompileOptions& options);

}  // namespace anemone::compiler

// SPDX-License-Identifier: Apache-2.0
// Whole functions: a range of layers, and the head.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "ir/program.h"
#include "models/architecture.h"
#include "models/layer_graph.h"
#include "models/weights.h"

namespace anemone::models {

// The interface of a shard, the same for all of its functions (but for T).
struct ShardInterface {
  std::vector<artifact::Port> ports;
  std::vector<artifact::Cache> caches;
  std::string output;
  // Channels beyond those of the hidden state: of the input and of the output.
  std::int64_t entered = 0;
  std::int64_t carried = 0;
  // The experts after the shard's end, if they are in packages of their own: the prefix of their
  // tensors, and the shard's outputs that they need (artifact::Experts).
  struct Experts {
    std::string prefix;
    std::string input;
    std::string weights;
  };
  std::optional<Experts> experts;
  std::vector<artifact::Head> heads = {};  // without their package
};

// Adds a function that runs these layers, which end with the model's last one if there are `heads`:
// the projections of build_heads(), whose outputs the function then has beside the hidden state.
Result<ShardInterface> build_layers(ir::Program& program, const std::string& function,
                                    const Architecture& architecture, const DecoderConfig& config,
                                    const artifact::LayerSpan& layers, WeightProvider& weights,
                                    const GraphOptions& options,
                                    std::span<const Projection> heads = {});

// Adds a function with one expert of a layer: kExpertInput to kExpertOutput.
Status build_expert(ir::Program& program, const std::string& function, const DecoderConfig& config,
                    std::int64_t layer, const std::string& prefix, std::int64_t index,
                    WeightProvider& weights, const GraphOptions& options);

// Each part of a layer, in order.
struct PartSize {
  std::uint64_t bytes = 0;      // of its constants
  std::int64_t operations = 0;  // others
};
Result<std::vector<PartSize>> part_sizes(const Architecture& architecture,
                                         const DecoderConfig& config, std::int64_t layer,
                                         WeightProvider& weights, const GraphOptions& options);

// Adds a function that applies the final norm and then each of the projections, whose weights are
// consecutive ranges of rows of the head. The heads are in their order; their package has no name
// yet.
Result<std::vector<artifact::Head>> build_heads(ir::Program& program, const std::string& function,
                                                const DecoderConfig& config,
                                                std::span<const Projection> projections,
                                                WeightProvider& weights,
                                                const GraphOptions& options);

// Adds a function that applies the final norm alone. The package has no name yet.
Result<artifact::Embed> build_embed(ir::Program& program, const std::string& function,
                                    const DecoderConfig& config, WeightProvider& weights,
                                    const GraphOptions& options);

}  // namespace anemone::models

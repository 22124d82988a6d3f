// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "artifact/manifest.h"
#include "ir/program.h"
#include "models/layer_graph.h"

namespace anemone::models {

// Reduces a function to the parts of its first and its last layer that the shard has
// (LayerSpan::part_begin, part_end). What is made before a border and used after it crosses the
// border in place of the hidden state, joined by channels in the order in which it is made; the
// pieces of a split cross as one value and are split again. What follows from the host's inputs
// alone (masks) is made again on the other side. Both shards at a border find the same values,
// since what the rest of a layer needs does not depend on the layers around it.
//
// Single-thread; used once, after all layers are built and before the builder's finish().
class FunctionCut {
 public:
  explicit FunctionCut(LayerGraph& graph);

  // Returns the output in the place of `hidden`. `ports`, `caches` and `other_outputs` lose those
  // that the rest does not touch, and the port of the hidden state becomes that of what crosses.
  // nullptr after an error, which is kept in the builder.
  ir::Value* apply(ir::Value* hidden, std::vector<artifact::Port>& ports,
                   std::vector<artifact::Cache>& caches, std::vector<ir::Value*>& other_outputs);

 private:
  void find_what_depends_on_the_text();
  std::size_t position_of(const ir::Value* value) const;
  std::optional<std::size_t> border(std::int64_t layer, std::int64_t part) const;
  std::vector<ir::Value*> crossing(std::size_t border, ir::Value* hidden);
  void enter(const std::vector<ir::Value*>& values);
  ir::Value* leave(const std::vector<ir::Value*>& values);
  void keep_what_is_used(const std::vector<ir::Value*>& outputs, std::size_t begin,
                         std::size_t end);

  LayerGraph& graph_;
  ir::Function& function_;
  const std::vector<ir::Op*> ops_;  // before the cut
  std::unordered_map<const ir::Op*, std::size_t> positions_;
  const ir::Value* hidden_ = nullptr;                 // the input
  std::unordered_set<const ir::Value*> of_the_text_;  // not of the host's inputs alone
  std::unordered_map<const ir::Value*, ir::Value*> entered_;
  std::unordered_set<const ir::Value*> used_;
};

}  // namespace anemone::models

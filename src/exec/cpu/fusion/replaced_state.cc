// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/replaced_state.h"

namespace anemone::exec {

void ReplacedState::add_to(Fusion& fusion) const {
  if (cache)
    fusion.caches.push_back(*cache);
  else
    fusion.states.push_back({state});
}

std::optional<ReplacedState> match_replaced_state(const FusionGraph& graph, int before, int after,
                                                  int uses) {
  if (before < 0 || after < 0) return std::nullopt;
  if (PreparedOp* read = graph.producer(before)) {
    if (read->kind != PreparedOp::Kind::kReadState) return std::nullopt;
    PreparedOp* write = graph.only_write(read->state);
    if (write == nullptr || write < read || FusionGraph::argument(*write, "data") != after)
      return std::nullopt;
    const ir::Type& type = read->op->input("input")->type;
    return ReplacedState{read->state, std::nullopt, type.shape, type.dtype, {read, write}};
  }
  const auto input = graph.input(before);
  const auto output = graph.output(after);
  const ir::Type& type = graph.type(before);
  if (!input || !output || graph.use_count(before) != uses || !type.is_tensor() ||
      !graph.type(after).is_tensor() || graph.type(after).shape != type.shape ||
      graph.type(after).dtype != type.dtype)
    return std::nullopt;
  return ReplacedState{
      -1,
      PreparedCache{CacheBinding::Kind::kReplace, *input, *output, type.shape, type.dtype},
      type.shape,
      type.dtype,
      {}};
}

}  // namespace anemone::exec

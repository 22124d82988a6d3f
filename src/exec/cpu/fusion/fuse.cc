// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/fuse.h"

#include <algorithm>

#include "exec/cpu/fusion/chain.h"
#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

// Longer patterns first: a shorter one would take parts of them away.
constexpr Matcher kMatchers[] = {
    match_top_k_mask,       match_experts,       match_delta_net, match_extended_state,
    match_cached_attention, match_attention,     match_rms_norm,  match_rope,
    match_projection,       match_silu_multiply, match_transpose, match_layer_norm,
    match_softmax,          match_depthwise_conv};

// Whether the operation has an empty output. The kernels run it then: fused operations divide by
// numbers of rows and channels.
bool gives_nothing(const FusionGraph& graph, const PreparedOp& op) {
  return std::ranges::any_of(op.outputs, [&](int reg) {
    const ir::Type& type = graph.type(reg);
    return type.is_tensor() && std::ranges::find(type.shape, 0) != type.shape.end();
  });
}

// The search begins at the end, so that a pattern of any length begins with its last operation.
void fuse_all(FusionGraph& graph, Matcher matcher) {
  for (auto op = graph.ops().rbegin(); op != graph.ops().rend(); ++op) {
    if (op->kind != PreparedOp::Kind::kKernel || gives_nothing(graph, *op)) continue;
    if (!op->is_statically_checked && matcher != match_projection) continue;
    auto fusion = matcher(graph, *op);
    if (fusion && graph.is_closed(*fusion)) graph.apply(std::move(*fusion));
  }
}

}  // namespace

void fuse(PreparedFunction& function) {
  FusionGraph graph(function);
  for (const Matcher matcher : kMatchers) {
    fuse_all(graph, matcher);
    if (matcher == match_cached_attention) graph.remove_unread_updates();
  }
  graph.drop_unused();  // a chain keeps what it takes
  fuse_chains(graph);
  fuse_all(graph, match_add);  // sums that are part of no chain
  graph.drop_unused();
  for (const PreparedOp& op : graph.ops())
    for (const StateRow& row : op.fused_states) function.states_in_place.push_back(row.state);
  for (PreparedOp& op : graph.ops())
    if (graph.is_view(op)) op.kind = PreparedOp::Kind::kView;
}

}  // namespace anemone::exec

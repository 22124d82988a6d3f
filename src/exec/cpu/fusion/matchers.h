// SPDX-License-Identifier: Apache-2.0
// One function per pattern, each in the file of its name (two in elementwise.cc), which tells
// whether `root` ends the pattern. fuse.cc checks for all of them that no other operation uses what
// would be removed.
#pragma once

#include <optional>

#include "exec/cpu/fusion/graph.h"

namespace anemone::exec {

using Matcher = std::optional<Fusion> (*)(const FusionGraph& graph, PreparedOp& root);

// fp16 activations by a constant matrix (conv 1x1, linear), read in the form in which the package
// has it; with bias.
std::optional<Fusion> match_projection(const FusionGraph& graph, PreparedOp& root);
// x * rsqrt(mean(x^2) + eps) * weight: plain, scaled by the largest magnitude first, or as half of
// a layer norm of x and -x.
std::optional<Fusion> match_rms_norm(const FusionGraph& graph, PreparedOp& root);
// layer_norm over the last axes, with constant gamma and beta or without.
std::optional<Fusion> match_layer_norm(const FusionGraph& graph, PreparedOp& root);
// softmax over the last axis.
std::optional<Fusion> match_softmax(const FusionGraph& graph, PreparedOp& root);
// Rotary embedding of pairs (j, j + half) along the last axis.
std::optional<Fusion> match_rope(const FusionGraph& graph, PreparedOp& root);
// Keys and values written into states by a one-hot mask, and attention over them.
std::optional<Fusion> match_cached_attention(const FusionGraph& graph, PreparedOp& root);
// A convolution along one axis with constant weights of each channel, as one operation or as sums
// of products with each of them.
std::optional<Fusion> match_depthwise_conv(const FusionGraph& graph, PreparedOp& root);
// Gated delta nets: the steps of all tokens over a state. The root is what the tokens read.
std::optional<Fusion> match_delta_net(const FusionGraph& graph, PreparedOp& root);
// The columns of a step joined to those of a state, of which the state keeps some: what short
// convolutions read.
std::optional<Fusion> match_extended_state(const FusionGraph& graph, PreparedOp& root);
// softmax(q @ k^T + mask) @ v over tensors, written out or as one operation.
std::optional<Fusion> match_attention(const FusionGraph& graph, PreparedOp& root);
// The sum over experts of routing weight * gated MLP, and what is added to it. The root is the last
// sum of all, or the product where a shard has the first expert alone.
std::optional<Fusion> match_experts(const FusionGraph& graph, PreparedOp& root);
// Which scores of each token are among the k highest, counted by comparing all with all.
std::optional<Fusion> match_top_k_mask(const FusionGraph& graph, PreparedOp& root);
// silu(a) * b.
std::optional<Fusion> match_silu_multiply(const FusionGraph& graph, PreparedOp& root);
// a + b of equal shapes.
std::optional<Fusion> match_add(const FusionGraph& graph, PreparedOp& root);
// The last two axes exchanged.
std::optional<Fusion> match_transpose(const FusionGraph& graph, PreparedOp& root);

}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
// The blocks that architectures share. Each is one file here; a second copy of one in an
// architecture file is a mistake. `prefix` names tensors of the checkpoint: "model.layers.3.".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/layer_graph.h"

namespace anemone::models {

// x * rsqrt(mean(x^2) + eps) * (norm_offset + weight) along `axis`, written as the form says
// (artifact::NormForm). kMaxScaled first divides the input by its largest magnitude, and eps by its
// square, which gives exactly the same number but keeps every intermediate between 1/n and 1:
// neither large activations overflow fp16 nor small ones vanish.
// `weight` names a vector of the length of the axis; empty: ones.
ir::Value* rms_norm(LayerGraph& graph, ir::Value* x, std::int32_t axis, const std::string& weight,
                    const std::string& name);
// An RMS norm whose eps and offset differ from those of the configuration.
struct NormNumbers {
  double eps = 0;
  double offset = 0;
};
ir::Value* rms_norm(LayerGraph& graph, ir::Value* x, std::int32_t axis, const std::string& weight,
                    const std::string& name, const NormNumbers& numbers);

// One of the projections of an input: its name behind that of the block, and its rows.
struct ProjectionOutput {
  std::string name;
  std::int64_t width = 0;
  std::vector<Projection::Part> weights = {};
  std::vector<WeightProvider::Vector> biases = {};  // empty: none
};
// All of them, as an attention has them: in one product, or each in its own where the form or the
// limits of the chip say so.
std::vector<ir::Value*> project_outputs(LayerGraph& graph, ir::Value* x,
                                        const std::vector<ProjectionOutput>& outputs,
                                        const std::string& name);

// Rotate-half (NEOX) rotary embedding of x [1, heads, T, head_dim]: with n frequencies, pairs
// (j, j + n) of the first 2n dimensions of a head are rotated, and the others pass as they are.
ir::Value* apply_rope(LayerGraph& graph, const artifact::Rope& rope, ir::Value* x,
                      const std::string& name);

// Grouped-query attention over the cache: fused q/k/v projection, optional norms of queries, keys
// and values, rotary embedding where the layer has it, masked softmax (with sinks, where there are
// some), output projection. A layer with a kv_layer projects queries alone. It takes and gives a
// hidden state.
ir::Value* attention(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                     ir::Value* x);

// The part of attention() that reads the cache: queries [1, heads, T, head_dim] against keys and
// values, which are those of the past and of the step where caches are read-only. `sinks` [1,
// heads, 1, 1] join the scores in the softmax; nullptr: none. Gives [1, heads * head_dim, T, 1].
ir::Value* attend(LayerGraph& graph, const LayerConfig& kind, ir::Value* q, const CachedRows& keys,
                  const CachedRows& values, ir::Value* sinks, const std::string& name);

// The projection of what attend() gives, with a bias where there is one.
ir::Value* attention_output(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                            ir::Value* mixed);

// The CarriedValue that holds what a step adds to the cache "k" or "v" of a layer.
std::string carried_tokens(std::string_view cache, std::int64_t layer);

// The activation of the gated MLP.
ir::Value* activate(LayerGraph& graph, ir::Value* x, const std::string& name);

// x [1, C, T, 1] behind the `kept` tokens before it: [1, C, kept + T, 1]. Those are kept in the
// recurrent state `cache`, zeros before the text.
ir::Value* after_earlier(LayerGraph& graph, const std::string& cache, ir::Value* x,
                         std::int64_t kept, const std::string& name);

// A convolution over the tokens of x [1, C, taps - 1 + T, 1], to [1, C, T, 1]. `weight` names a
// tensor [C, C / groups, taps], `bias` [C] as conv_bias() makes it may be nullptr. With as many
// groups as channels, it is written as the form says (artifact::TapsForm).
ir::Value* conv_over_time(LayerGraph& graph, ir::Value* x, std::int64_t groups, std::int64_t taps,
                          const std::string& weight, ir::Value* bias, const std::string& name);

// The bias of conv_over_time(): the tensor `tensor` [channels], as a constant `name`.
ir::Value* conv_bias(LayerGraph& graph, const std::string& tensor, std::int64_t channels,
                     std::int64_t groups, const std::string& name);

// Each channel of x [1, C, T, 1] weighed over the current token and the taps - 1 before it, zeros
// before the text; those are kept in the recurrent state `cache`. `weight` names a tensor
// [C, 1, taps], `bias` as conv_bias() makes it may be nullptr.
ir::Value* causal_conv(LayerGraph& graph, const std::string& cache, ir::Value* x, std::int64_t taps,
                       const std::string& weight, ir::Value* bias, const std::string& name);

// Attention without keys and values by position: a state for each head that decays, learns and is
// read, token by token (DecoderConfig::delta_net). It takes and gives a hidden state.
ir::Value* delta_net(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                     ir::Value* x);

// A gated convolution over time: with (b, c, u) = in(x), out(c * conv(b * u)), where conv weighs
// each channel of the current token and of the conv_taps - 1 before it, zeros before the text.
// Those tokens are kept in a recurrent state. (Lfm2ShortConv of transformers.)
ir::Value* short_conv(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                      ir::Value* x);

// down(activation(gate(x)) * up(x)), with gate and up in one projection where the form and the
// limits of the chip allow it.
ir::Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                     ir::Value* x);
ir::Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, ir::Value* x,
                     std::int64_t width);

// activation(gate) * up, of one projection's output [gate | up] of `width` each.
ir::Value* gate_product(LayerGraph& graph, ir::Value* gate_up, std::int64_t width,
                        const std::string& name);

// What each expert's output is multiplied by, [1, experts, T, 1], from the router's output of the
// same shape: 0 for all but the active ones. `selection_bias` may be nullptr. The router may select
// among more than there are experts.
ir::Value* routing_weights(LayerGraph& graph, ir::Value* logits, ir::Value* selection_bias,
                           const std::string& name);

// A sparse mixture of gated MLPs (DecoderConfig::experts): the sum of all experts' outputs times
// their routing weights. All of them are in the graph, as the chip has no branches; an executor
// may leave out what a weight of 0 takes away. Each of them is a part of the layer, where a shard
// may end.
ir::Value* experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix, ir::Value* x);
// One expert: [1, hidden_size, T, 1] to the same, not yet multiplied by its weight.
ir::Value* expert(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                  std::int64_t index, ir::Value* x);
// The weighted sum of all experts with given weights [1, experts, T, 1]; if the experts are in
// packages of their own, the input for that sum.
ir::Value* mix_experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                       ir::Value* x, ir::Value* weights);

// x += attention(norm(x)), or a short convolution or a delta net in its place; x += mlp(norm(x)),
// or experts, with norms before, behind or both, by their names in TensorNames, and a factor on
// what is added. The two halves are add_attention and add_mlp.
ir::Value* add_attention(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);
ir::Value* add_mlp(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);
ir::Value* decoder_layer(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);

}  // namespace anemone::models

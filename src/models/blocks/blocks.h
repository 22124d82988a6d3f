// SPDX-License-Identifier: Apache-2.0
// The blocks that architectures share, each in a file of its name in this folder. `prefix` is what
// the names of the layer's tensors in the checkpoint begin with: "model.layers.3.".
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

// One of several projections of the same input.
struct ProjectionOutput {
  std::string name;        // appended to the block's name: "_q"
  std::int64_t width = 0;  // output channels
  std::vector<Projection::Part> weights = {};
  std::vector<WeightProvider::Vector> biases = {};  // empty: none
};
// All of them, in one product where the form and the limits of the chip allow it
// (artifact::FusingForm, NotchForm), else each in a product of its own.
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

// The output projection after attend(), with a bias where the model has one.
ir::Value* attention_output(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                            ir::Value* mixed);

// Name of the CarriedValue with the rows that a step adds to the cache "k" or "v" of a layer.
std::string carried_tokens(std::string_view cache, std::int64_t layer);

// The activation of the gated MLP.
ir::Value* activate(LayerGraph& graph, ir::Value* x, const std::string& name);

// x [1, C, T, 1] after the `kept` tokens before it: [1, C, kept + T, 1]. Those are kept in the
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

// A causal depthwise convolution of x [1, C, T, 1]: each token is computed from itself and the
// taps - 1 tokens before it, which are zeros at the beginning of the text and are kept in the
// recurrent state `cache` between steps. `weight` names a tensor [C, 1, taps], `bias` as
// conv_bias() makes it may be nullptr.
ir::Value* causal_conv(LayerGraph& graph, const std::string& cache, ir::Value* x, std::int64_t taps,
                       const std::string& weight, ir::Value* bias, const std::string& name);

// A gated delta net in the place of attention: each head has a state that every token decays,
// updates and reads (DecoderConfig::delta_net). It takes and gives a hidden state.
ir::Value* delta_net(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                     ir::Value* x);

// A gated short convolution (Lfm2ShortConv of transformers): out(c * conv(b * u)) with
// (b, c, u) = in(x), where conv is causal_conv() over conv_taps tokens.
ir::Value* short_conv(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                      ir::Value* x);

// down(activation(gate(x)) * up(x)), with gate and up in one projection where the form and the
// limits of the chip allow it. With a width of its own it is the shared expert of a layer, whose
// tokens stay along one axis (artifact::MlpForm), as those of its experts do.
ir::Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                     ir::Value* x);
ir::Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, ir::Value* x,
                     std::int64_t width);

// activation(gate) * up, of one projection's output [gate | up] of `width` each.
ir::Value* gate_product(LayerGraph& graph, ir::Value* gate_up, std::int64_t width,
                        const std::string& name);

// The factor of each expert's output, [1, experts, T, 1], from the router's logits of the same
// shape: 0 for all but the active experts. `selection_bias` may be nullptr. The router may have
// more outputs than there are experts (Zaya: one stands for no expert).
ir::Value* routing_weights(LayerGraph& graph, ir::Value* logits, ir::Value* selection_bias,
                           const std::string& name);

// A sparse mixture of gated MLPs (DecoderConfig::experts): the sum of all experts' outputs times
// their routing weights. The graph computes all of them, as the chip has no branches; an executor
// may skip experts whose weight is 0. A shard may end between two experts.
ir::Value* experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix, ir::Value* x);
// One expert: [1, hidden_size, T, 1] to the same, not yet multiplied by its weight.
ir::Value* expert(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                  std::int64_t index, ir::Value* x);
// The sum of all experts times their `weights` [1, experts, T, 1]. With ExpertsForm::kPacks it is
// an input of the package instead, which the host computes.
ir::Value* mix_experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                       ir::Value* x, ir::Value* weights);

// The two halves of a decoder layer, and both: hidden += scale * mixer(hidden), where the mixer is
// attention, a short convolution or a delta net; then hidden += scale * mlp(hidden), an MLP or
// experts. TensorNames says whether a norm stands before, after or on both sides of each.
ir::Value* add_attention(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);
ir::Value* add_mlp(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);
ir::Value* decoder_layer(LayerGraph& graph, std::int64_t layer, ir::Value* hidden);

}  // namespace anemone::models

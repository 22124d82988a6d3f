// SPDX-License-Identifier: Apache-2.0
// The form of a compiled model: how its graph is written where the same values can be computed in
// several ways. Which way the chip runs best is partly contested, so each choice has a field here
// that options set and the manifest records. anemone::ane::named_forms() lists the presets and the
// reason for each of their fields.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/shape.h"

namespace anemone::artifact {

// The shape of the activations of T tokens: [1, channels, T, 1], tokens along the height, or
// [1, channels, 1, T], tokens along the width. The bytes are the same, but the chip treats the two
// shapes differently: it pads the last axis to 64 bytes, which 32 tokens of fp16 fill.
enum class HiddenLayout { kTokensInHeight, kTokensInWidth };
std::string_view hidden_layout_name(HiddenLayout layout);  // "tokens-in-height"
Shape hidden_shape(HiddenLayout layout, std::int64_t channels, std::int64_t tokens);

// How a package keeps the keys and values of earlier tokens.
//   kBlend     Each layer has a cache for its keys and one for its values. The package writes the
//              tokens of the step into them through a product with a one-hot matrix. The caches
//              are states in fp16, and inputs with outputs in fp32.
//   kReadOnly  The caches are inputs. The package gives the rows of the step as outputs, and the
//              host appends them.
//   kGrowing   As kReadOnly, but the axis of the positions is open: a step takes as many positions
//              as the host has room for now, from 1 to the context. An empty past would be an empty
//              array, which Core ML does not take: the first step gets positions that are masked.
//   kSlice     The caches of all layers of a package are one tensor [rows, kv_heads, positions,
//              head_dim], with a row for the keys and a row for the values of each layer: a state
//              in fp16, an input with an output in fp32. The package writes the tokens of the step
//              by a slice update at the position that the host gives it. After the context there
//              is room for the widest step, because padding tokens are written, too.
enum class CacheForm { kBlend, kReadOnly, kSlice, kGrowing };
std::string_view cache_form_name(CacheForm cache);  // "blend", "readonly", "slice", "growing"

// How many positions a function takes of a cache that the host appends to (kReadOnly; kGrowing, at
// most so many), where its layer has a sliding window.
//   kWhole   all of the context, as for other layers
//   kWindow  at most the window, the last positions before the step
// The host keeps all positions either way.
enum class PastForm { kWhole, kWindow };
// For a function of `context` positions and a layer with this window; 0: it has none.
std::int64_t past_positions(PastForm past, std::int64_t context, std::int64_t window);

// Where packages of fp16 keep recurrent states (short convolutions, delta nets): in Core ML states,
// or in inputs and outputs. Those of fp32 have no states.
enum class RecurrentForm { kStates, kTensors };

// How log(1 + exp(x)) is written: kOperation, as the operation softplus; kArithmetic, as
// max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
enum class SoftplusForm { kOperation, kArithmetic };

// How depthwise convolutions over time (short convolutions, delta nets) are written: kConvolution,
// as the operation conv; kArithmetic, as one product per tap and the sum of these.
enum class TapsForm { kConvolution, kArithmetic };

// How the routing weights of inactive experts become 0: kSelect, by the operation select;
// kArithmetic, by products and sums with a mask of zeros and ones.
enum class RoutingForm { kSelect, kArithmetic };

// Where the planner ends a package of layers: kBySize, at a number of bytes; kBounded, also at the
// number of layers and of operations that chips were seen to load.
enum class PackageForm { kBySize, kBounded };

// What becomes of products of a gated MLP that are wider than one axis of the chip may be (in
// inputs or outputs): kWhole, they stay; kSplit, gate and up become two products, and where that
// is not enough, the MLP becomes a sum of MLPs over ranges of its channels.
enum class ProjectionForm { kWhole, kSplit };

// Whether products that read the same input (queries, keys and values; gate and up of an MLP) are
// computed as one: kFused, unless another choice separates them; kApart, never. Inside experts,
// gate and up are always one product.
enum class FusingForm { kFused, kApart };

// The shape of the tokens in the products of an MLP: kLine, along one axis as in hidden states;
// kSquare, the 64 tokens of a step as 8 x 8; experts, and other numbers of tokens, along one axis.
enum class MlpForm { kLine, kSquare };

// What becomes of products whose weights some chips stream slowly, which happens where the bytes
// per core lie near a multiple of 1 MiB (ane/limits.h). kIgnored: nothing; kAvoided: such products
// are not fused, and one that is slow by itself is split over ranges of its outputs.
enum class NotchForm { kIgnored, kAvoided };

// How x / sqrt(mean(x^2) + eps) is written: kMaxScaled, with x divided by its largest magnitude
// before it is squared; kLayerNorm, as the first half of layer_norm(concat(x, -x)), whose mean is
// 0.
enum class NormForm { kMaxScaled, kLayerNorm };

// Where the experts of a layer are: kDense, all in the graph of the layer, which multiplies their
// outputs by the routing weights; kPacks, in packages of their own, of which the host runs those
// that are active.
enum class ExpertsForm { kDense, kPacks };

// What a head gives: all logits, or the most likely token and its logit.
enum class HeadForm { kLogits, kArgmax };

// The outputs of a package of the head: kOne, one for all vocabulary rows of the package; kSplit,
// one for each range of rows that fits one axis of the chip, after one common norm.
enum class HeadOutputs { kOne, kSplit };

// Whether a model that generates can also give text embeddings: kPackage, a package of its own
// gives the hidden state after the final norm (Manifest::embed).
enum class EmbedForm { kNone, kPackage };

// The axis of the vocabulary in the logits: kChannels, as in hidden_shape(); kLast,
// [1, 1, T, columns].
enum class LogitsLayout { kChannels, kLast };

// How the embedding matrix is stored. kFloat: as floats; the host reads the rows from the head
// where that holds the same floats, else from a file. kStored: quantized; the host reads the rows
// from the head where the model ties both, in the head's scheme, else from a file in the scheme of
// the recipe.
enum class EmbeddingForm { kFloat, kStored };

// The defaults are what fields mean that a manifest lacks; `compile` takes the form `portable`.
struct Form {
  HiddenLayout layout = HiddenLayout::kTokensInHeight;
  CacheForm cache = CacheForm::kBlend;
  PastForm past = PastForm::kWhole;
  RecurrentForm recurrent = RecurrentForm::kStates;
  SoftplusForm softplus = SoftplusForm::kOperation;
  TapsForm taps = TapsForm::kConvolution;
  RoutingForm routing = RoutingForm::kSelect;
  ProjectionForm projections = ProjectionForm::kWhole;
  FusingForm fusing = FusingForm::kFused;
  MlpForm mlp = MlpForm::kLine;
  NotchForm notch = NotchForm::kIgnored;
  NormForm norm = NormForm::kMaxScaled;
  ExpertsForm experts = ExpertsForm::kDense;
  LogitsLayout logits = LogitsLayout::kChannels;
  HeadForm head = HeadForm::kLogits;
  HeadOutputs head_outputs = HeadOutputs::kOne;
  PackageForm packages = PackageForm::kBySize;
  EmbeddingForm embedding = EmbeddingForm::kFloat;
  EmbedForm embed = EmbedForm::kNone;

  // Whether the host appends the rows of a step to the caches.
  bool has_appended_caches() const { return cache == CacheForm::kReadOnly || has_growing_caches(); }
  bool has_growing_caches() const { return cache == CacheForm::kGrowing; }
  bool has_packed_caches() const { return cache == CacheForm::kSlice; }
  bool has_recurrent_states() const { return recurrent == RecurrentForm::kStates; }
  Shape logits_shape(std::int64_t columns, std::int64_t tokens) const {
    return logits == LogitsLayout::kLast ? Shape{1, 1, tokens, columns}
                                         : hidden_shape(layout, columns, tokens);
  }
  bool has_split_heads() const { return head_outputs == HeadOutputs::kSplit; }
  bool has_bounded_packages() const { return packages == PackageForm::kBounded; }
  bool has_split_projections() const { return projections == ProjectionForm::kSplit; }
  bool has_fused_products() const { return fusing == FusingForm::kFused; }
  bool has_square_mlps() const { return mlp == MlpForm::kSquare; }
  bool avoids_notch() const { return notch == NotchForm::kAvoided; }
  bool has_layer_norms() const { return norm == NormForm::kLayerNorm; }
  bool has_stored_embedding() const { return embedding == EmbeddingForm::kStored; }
  bool has_embed() const { return embed == EmbedForm::kPackage; }
  bool has_argmax() const { return head == HeadForm::kArgmax; }
  bool has_expert_packs() const { return experts == ExpertsForm::kPacks; }
  bool operator==(const Form&) const = default;
};

// A field of Form with its names in files, flags and reports.
struct FormField {
  std::string_view name;  // "layout"
  std::string_view what;  // what it decides, for people
  std::span<const std::string_view> values;
  std::size_t (*get)(const Form& form);  // index into values
  void (*set)(Form& form, std::size_t value);

  std::string_view value_of(const Form& form) const { return values[get(form)]; }
};
std::span<const FormField> form_fields();

// kInvalidArgument for an unknown field or value.
Status set_form_field(Form& form, std::string_view field, std::string_view value);

}  // namespace anemone::artifact

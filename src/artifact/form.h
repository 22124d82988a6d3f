// SPDX-License-Identifier: Apache-2.0
// The form of a compiled model: the choices that leave what its graph computes alone. What
// the chip makes of them is partly contested, so each is named here once, as an option and in the
// manifest. anemone::ane::named_forms() has the ones to choose from, and why.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/shape.h"

namespace anemone::artifact {

// The shape of the activations of T tokens: [1, channels, T, 1], tokens along the height, or
// [1, channels, 1, T], tokens along the width, where 32 tokens of fp16 fill a line of 64 bytes. The
// bytes are the same, but the chip treats the two shapes differently.
enum class HiddenLayout { kTokensInHeight, kTokensInWidth };
std::string_view hidden_layout_name(HiddenLayout layout);  // "tokens-in-height"
Shape hidden_shape(HiddenLayout layout, std::int64_t channels, std::int64_t tokens);

// How the keys and values of earlier tokens are kept. kBlend: the package updates them through a
// product with a one-hot matrix, as states in fp16 and as inputs and outputs in fp32. kReadOnly:
// they are inputs, the rows of the step are outputs, and the host appends them. kSlice: those of
// all layers of a package are one tensor, [rows, kv_heads, positions, head_dim], with a row for the
// keys and one for the values of each layer, a state in fp16 and an input and output in fp32; the
// package writes the tokens of the step at the position that the host gives it. It has room for a
// widest step behind the context, so that padding is written there, too.
enum class CacheForm { kBlend, kReadOnly, kSlice };

// Where packages of fp16 keep recurrent states (short convolutions, delta nets): in Core ML states,
// or in inputs and outputs. Those of fp32 have no states.
enum class RecurrentForm { kStates, kTensors };

// How log(1 + exp(x)) is written: as the operation, or in operations that do not overflow,
// max(x, 0) + log(1 + exp(-|x|)).
enum class SoftplusForm { kOperation, kArithmetic };

// How convolutions over time with weights of each channel's own (short convolutions, delta nets)
// are written: as the operation, or as a product with each tap and sums of these.
enum class TapsForm { kConvolution, kArithmetic };

// How the weights of experts that are not active become 0: by a selection between the weights and a
// number, or in products and sums with a mask of zeros and ones.
enum class RoutingForm { kSelect, kArithmetic };

// What bounds a package of layers that the planner fills: kBySize, its bytes; kBounded, also the
// layers and operations that chips were seen to take.
enum class PackageForm { kBySize, kBounded };

// How wide the matrices of a gated MLP are: kWhole, as the model has them, gate and up in one;
// kSplit, no product has more inputs or outputs than the chip takes as one axis: gate and up are
// two, or the MLP becomes the sum of several over ranges of its channels.
enum class ProjectionForm { kWhole, kSplit };

// Whether products of one input are one: queries, keys and values, and gate and up of an MLP.
// kFused, where nothing else keeps them apart; kApart, each has a product of its own. Experts keep
// gate and up in one.
enum class FusingForm { kFused, kApart };

// What becomes of products whose weights some chips stream slowly, because what each of its cores
// reads lies near a multiple of a power of two. kIgnored: nothing; kAvoided: they are not fused,
// and one that is slow by itself becomes several over ranges of its outputs.
enum class NotchForm { kIgnored, kAvoided };

// How x / sqrt(mean(x^2) + eps) is written: kMaxScaled, by squares of x over its largest magnitude;
// kLayerNorm, as the first half of a layer norm of x beside -x, whose mean is 0.
enum class NormForm { kMaxScaled, kLayerNorm };

// Where the experts of a layer go: kDense puts all of them into the graph, multiplied by their
// weights; kPacks puts them into packages of their own, of which the host runs the active ones.
enum class ExpertsForm { kDense, kPacks };

// What a head gives: all logits, or the most likely token and its logit.
enum class HeadForm { kLogits, kArgmax };

// What a package of heads gives: kOne, one output for all of its vocabulary rows; kSplit, an output
// for each range of rows that the chip takes as one axis, all of them from one norm.
enum class HeadOutputs { kOne, kSplit };

// Whether a model that generates gives the hidden state behind its final norm, too, for embeddings:
// kPackage, in a package of its own (Manifest::embed).
enum class EmbedForm { kNone, kPackage };

// The axis of the vocabulary in what heads give: the channels, in the layout of hidden states, or
// the last one, [1, 1, T, columns].
enum class LogitsLayout { kChannels, kLast };

// How rows of embeddings are stored. kFloat: as floats, in the heads where those hold the same
// floats, else in a file. kStored: as the weights are, in the heads where those are tied, whatever
// their scheme, else in a file by the recipe.
enum class EmbeddingForm { kFloat, kStored };

// The default is what version 1 of the manifest stands for.
struct Form {
  HiddenLayout layout = HiddenLayout::kTokensInHeight;
  CacheForm cache = CacheForm::kBlend;
  RecurrentForm recurrent = RecurrentForm::kStates;
  SoftplusForm softplus = SoftplusForm::kOperation;
  TapsForm taps = TapsForm::kConvolution;
  RoutingForm routing = RoutingForm::kSelect;
  ProjectionForm projections = ProjectionForm::kWhole;
  FusingForm fusing = FusingForm::kFused;
  NotchForm notch = NotchForm::kIgnored;
  NormForm norm = NormForm::kMaxScaled;
  ExpertsForm experts = ExpertsForm::kDense;
  LogitsLayout logits = LogitsLayout::kChannels;
  HeadForm head = HeadForm::kLogits;
  HeadOutputs head_outputs = HeadOutputs::kOne;
  PackageForm packages = PackageForm::kBySize;
  EmbeddingForm embedding = EmbeddingForm::kFloat;
  EmbedForm embed = EmbedForm::kNone;

  bool has_read_only_caches() const { return cache == CacheForm::kReadOnly; }
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
  bool avoids_notch() const { return notch == NotchForm::kAvoided; }
  bool has_layer_norms() const { return norm == NormForm::kLayerNorm; }
  bool has_stored_embedding() const { return embedding == EmbeddingForm::kStored; }
  bool has_embed() const { return embed == EmbedForm::kPackage; }
  bool has_argmax() const { return head == HeadForm::kArgmax; }
  bool has_expert_packs() const { return experts == ExpertsForm::kPacks; }
  bool operator==(const Form&) const = default;
};

// A choice of a Form as files, flags and reports name it.
struct FormField {
  std::string_view name;  // "layout"
  std::string_view what;  // that is chosen, for people
  std::span<const std::string_view> values;
  std::size_t (*get)(const Form& form);  // which of the values
  void (*set)(Form& form, std::size_t value);

  std::string_view value_of(const Form& form) const { return values[get(form)]; }
};
std::span<const FormField> form_fields();

// kInvalidArgument for a field or a value that there is not.
Status set_form_field(Form& form, std::string_view field, std::string_view value);

}  // namespace anemone::artifact

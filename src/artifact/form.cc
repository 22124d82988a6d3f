// SPDX-License-Identifier: Apache-2.0
#include "artifact/form.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "base/error.h"

namespace anemone::artifact {
namespace {

// A field whose values are those of an enumeration, in its order.
template <auto kMember>
constexpr FormField field(std::string_view name, std::string_view what,
                          std::span<const std::string_view> values) {
  return {name, what, values,
          [](const Form& form) { return static_cast<std::size_t>(form.*kMember); },
          [](Form& form, std::size_t value) {
            using Value = std::remove_reference_t<decltype(form.*kMember)>;
            form.*kMember = static_cast<Value>(value);
          }};
}

constexpr std::array<std::string_view, 2> kLayouts = {"height", "width"};
constexpr std::array<std::string_view, 4> kCaches = {"blend", "readonly", "slice", "growing"};
constexpr std::array<std::string_view, 2> kPasts = {"whole", "window"};
constexpr std::array<std::string_view, 2> kRecurrent = {"states", "tensors"};
constexpr std::array<std::string_view, 2> kSoftplus = {"operation", "arithmetic"};
constexpr std::array<std::string_view, 2> kTaps = {"convolution", "arithmetic"};
constexpr std::array<std::string_view, 2> kRouting = {"select", "arithmetic"};
constexpr std::array<std::string_view, 2> kProjections = {"whole", "split"};
constexpr std::array<std::string_view, 2> kFusing = {"fused", "apart"};
constexpr std::array<std::string_view, 2> kMlps = {"line", "square"};
constexpr std::array<std::string_view, 2> kNotch = {"ignored", "avoided"};
constexpr std::array<std::string_view, 2> kNorms = {"max-scaled", "layer-norm"};
constexpr std::array<std::string_view, 2> kPackages = {"by-size", "bounded"};
constexpr std::array<std::string_view, 2> kLogits = {"channels", "last-axis"};
constexpr std::array<std::string_view, 2> kExperts = {"dense", "packs"};
constexpr std::array<std::string_view, 2> kHeads = {"logits", "argmax"};
constexpr std::array<std::string_view, 2> kHeadOutputs = {"one", "split"};
constexpr std::array<std::string_view, 2> kEmbeddings = {"float", "stored"};
constexpr std::array<std::string_view, 2> kEmbeds = {"none", "package"};

constexpr std::array kFields = {
    field<&Form::layout>("layout", "the axis of the tokens in hidden states", kLayouts),
    field<&Form::cache>("cache", "how keys and values are kept", kCaches),
    field<&Form::past>("past", "what layers with a window take of caches that the host appends to",
                       kPasts),
    field<&Form::recurrent>("recurrent", "where recurrent states are kept", kRecurrent),
    field<&Form::softplus>("softplus", "how softplus is written", kSoftplus),
    field<&Form::taps>("taps", "how convolutions over time are written", kTaps),
    field<&Form::routing>("routing", "how inactive experts get no weight", kRouting),
    field<&Form::projections>("projections", "how wide the matrices of an MLP are", kProjections),
    field<&Form::fusing>("fusing", "whether products of one input are one", kFusing),
    field<&Form::mlp>("mlp", "the shape of the tokens in an MLP", kMlps),
    field<&Form::notch>("notch", "what becomes of slowly streamed products", kNotch),
    field<&Form::norm>("norm", "how norms are written", kNorms),
    field<&Form::experts>("experts", "where the experts of a layer are", kExperts),
    field<&Form::logits>("logits", "the axis of the vocabulary", kLogits),
    field<&Form::head>("head", "what the heads give", kHeads),
    field<&Form::head_outputs>("head-outputs", "outputs of a package of heads", kHeadOutputs),
    field<&Form::packages>("packages", "what bounds a package of layers", kPackages),
    field<&Form::embedding>("embedding", "how rows of embeddings are stored", kEmbeddings),
    field<&Form::embed>("embed", "where the last hidden state comes out", kEmbeds),
};

}  // namespace

std::string_view hidden_layout_name(HiddenLayout layout) {
  return layout == HiddenLayout::kTokensInHeight ? "tokens-in-height" : "tokens-in-width";
}

Shape hidden_shape(HiddenLayout layout, std::int64_t channels, std::int64_t tokens) {
  return layout == HiddenLayout::kTokensInHeight ? Shape{1, channels, tokens, 1}
                                                 : Shape{1, channels, 1, tokens};
}

std::string_view cache_form_name(CacheForm cache) {
  return kCaches[static_cast<std::size_t>(cache)];
}

std::int64_t past_positions(PastForm past, std::int64_t context, std::int64_t window) {
  return past == PastForm::kWhole || window == 0 ? context : std::min(context, window);
}

std::span<const FormField> form_fields() {
  return kFields;
}

Status set_form_field(Form& form, std::string_view name, std::string_view value) {
  const auto known = std::ranges::find(kFields, name, &FormField::name);
  if (known == kFields.end()) {
    std::vector<std::string_view> names;
    for (const FormField& each : kFields) names.push_back(each.name);
    return invalid_argument("[form] expected a field of {}, got \"{}\"", fmt::join(names, ", "),
                            name);
  }
  const auto found = std::ranges::find(known->values, value);
  if (found == known->values.end())
    return invalid_argument("[{}] expected {}, got \"{}\"", name,
                            fmt::join(known->values, known->values.size() == 2 ? " or " : ", "),
                            value);
  known->set(form, static_cast<std::size_t>(found - known->values.begin()));
  return {};
}

}  // namespace anemone::artifact

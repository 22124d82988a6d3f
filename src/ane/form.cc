// SPDX-License-Identifier: Apache-2.0
#include "ane/form.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"

namespace anemone::ane {
namespace {

constexpr artifact::Form kPortable = {.layout = artifact::HiddenLayout::kTokensInWidth,
                                      .cache = artifact::CacheForm::kReadOnly,
                                      .past = artifact::PastForm::kWindow,
                                      .recurrent = artifact::RecurrentForm::kTensors,
                                      .softplus = artifact::SoftplusForm::kArithmetic,
                                      .taps = artifact::TapsForm::kArithmetic,
                                      .routing = artifact::RoutingForm::kArithmetic,
                                      .projections = artifact::ProjectionForm::kSplit,
                                      .notch = artifact::NotchForm::kAvoided,
                                      .logits = artifact::LogitsLayout::kLast,
                                      .head_outputs = artifact::HeadOutputs::kSplit,
                                      .packages = artifact::PackageForm::kBounded,
                                      .embedding = artifact::EmbeddingForm::kStored,
                                      .embed = artifact::EmbedForm::kPackage};

constexpr artifact::Form with_packed_states(artifact::Form form) {
  form.cache = artifact::CacheForm::kSlice;
  form.past = artifact::PastForm::kWhole;
  return form;
}

constexpr std::array kForms = {
    NamedForm{"portable",
              "only what no report has seen a chip refuse: no states, caches that the host appends "
              "to, a long last axis, no axis above 16,384",
              kPortable},
    NamedForm{"blend-states",
              "caches as states, written by a product with a one-hot matrix; tokens in the height",
              {}},
    NamedForm{"slice-states",
              "portable, but the caches of a package are one state, written at the position that "
              "the host gives",
              with_packed_states(kPortable)},
};

struct Reason {
  std::string_view field;
  std::string_view value;
  std::string_view text;
};
constexpr std::array kReasons = {
    Reason{"layout", "height",
           "the ane-book measured programs of this layout resident on the chip; a last axis of 1 "
           "is padded to 64 bytes (Apple's rules)"},
    Reason{"layout", "width",
           "a last axis of 1 is padded to 64 bytes, 32 times the bytes in fp16 (Apple's rules); "
           "32 tokens fill it"},
    Reason{
        "cache", "blend",
        "the ane-book measured a whole stateful 0.5B on the chip (M4 Max); every step rewrites the "
        "cache, and magenta-realtime-2 and mobius#77 saw states refused with Core ML's error -14"},
    Reason{"cache", "readonly",
           "Apple's rules and ExecuTorch's static llama pass caches as inputs; magenta-realtime-2 "
           "measured all of that on the chip (A14)"},
    Reason{"cache", "slice",
           "one state per package, and a step writes its own rows only: ANEMLL and CoreML-LLM ship "
           "it (A19, M4); magenta-realtime-2 and mobius#77 saw states refused with Core ML's error "
           "-14"},
    Reason{"cache", "growing",
           "ane-book's converter (gguf_to_ane) writes it: a step reads about what is "
           "there; but coremltools#2370 measured about 0 % of a model with ranges of shapes on the "
           "chip"},
    Reason{"past", "whole", "all layers have operands of one shape, and one mask"},
    Reason{"past", "window",
           "what a layer cannot attend to is neither read nor multiplied: of a context of 4,096, a "
           "window of 512 is an eighth"},
    Reason{"recurrent", "states",
           "no bytes pass between host and chip; CoreML-LLM saw three or more states, or KV beside "
           "conv states, fail at predict (macOS 26)"},
    Reason{"recurrent", "tensors",
           "conv states as inputs and outputs worked where states failed (CoreML-LLM, macOS 26)"},
    Reason{
        "logits", "channels",
        "the convolution of the head gives the vocabulary in its channels; nothing is transposed"},
    Reason{"logits", "last-axis",
           "a last axis of 1 is padded to 64 bytes: 9.7 MB per token for a vocabulary of 151,936"},
    Reason{"softplus", "operation", "one operation; right everywhere but on the chip"},
    Reason{"softplus", "arithmetic",
           "the chip's softplus is 0 where its input is above 10.4 (coremltools#2687)"},
    Reason{"taps", "convolution", "one operation; where it runs on the chip, one pass over memory"},
    Reason{"taps", "arithmetic",
           "CoreML-LLM measured convolutions with a group for each channel on the CPU, about 5 ms "
           "each time (macOS 26)"},
    Reason{"routing", "select", "one operation; any score, even an infinite one, is left out"},
    Reason{"routing", "arithmetic",
           "a select that broadcasts broke the plan (onnxsim#1400); CoreML-LLM saw select on the "
           "CPU (macOS 26)"},
    Reason{"projections", "whole", "one product reads gate and up; some chips refuse wide ones"},
    Reason{"projections", "split",
           "M1, M2 and M2 Pro refuse an axis above 16,384 (mobius#61, ANEForge#152), and larql#312 "
           "saw the same of inputs"},
    Reason{"fusing", "fused", "fewer operations; nobody has measured products apart against it"},
    Reason{"fusing", "apart", "as checkpoints have them; no output is split again"},
    Reason{"mlp", "line", "nothing is reshaped; hidden states have this shape"},
    Reason{"mlp", "square",
           "64 tokens as 8 x 8 are worth about 20 % overall to the author of coreml-llm-cli"},
    Reason{"notch", "ignored",
           "as few products as there can be; of those near a multiple of 1 MiB per core, an M4 "
           "streams "
           "fp16 weights at 17-19 GB/s in place of 45-60 (stablehlo-coreml#110)"},
    Reason{"notch", "avoided",
           "a synthetic Llama-1B step ran 2.41 times as fast with such products split "
           "(stablehlo-coreml#110, M4, fp16); quantized ones are unmeasured and stay whole"},
    Reason{
        "norm", "max-scaled",
        "no square overflows or vanishes in fp16, as plain ones do on the chip (executorch#19523)"},
    Reason{"norm", "layer-norm",
           "one operation; ANEForge#8 measured layer_norm 16 to 27 times as fast as a sum over the "
           "channels of more than 256 rows (M5); what it does with large squares is unmeasured"},
    Reason{"experts", "dense",
           "no step leaves the chip; it reads all experts of a layer for each token"},
    Reason{"experts", "packs",
           "only the active experts are read; the host crosses to them and back in every layer"},
    Reason{"head", "logits", "every sampling method works"},
    Reason{"head", "argmax",
           "no logits leave the chip; ANEMLL ships it, CoreML-LLM saw it placed on the CPU"},
    Reason{"head-outputs", "one",
           "one convolution per package, of up to 65,536 columns, which M1, M2 and M2 Pro refuse "
           "(mobius#61, ANEForge#152)"},
    Reason{"head-outputs", "split",
           "no output has more than 16,384 columns, which every chip takes; splitting a head into "
           "16 outputs cost 4.6 % on an A19 (CoreML-LLM)"},
    Reason{"packages", "by-size", "as few packages as hold the weights, of at most 250 MB each"},
    Reason{"packages", "bounded",
           "at most 16 layers and 1,500 operations: 28 and 31 layers failed where 14 worked "
           "(speech-swift#282, ANEForge#254)"},
    Reason{"embedding", "float",
           "the host copies rows of the checkpoint; a table that a quantized head shares is stored "
           "twice"},
    Reason{"embedding", "stored",
           "the host decodes quantized rows; a table that the head shares is stored once (272 MB "
           "less for the 0.5B)"},
    Reason{"embed", "none", "the model gives logits alone"},
    Reason{
        "embed", "package",
        "embeddings need it and no logits; its weights are a vector, and in the head it would be "
        "a third function: four made prefill slower (CoreML-LLM)"},
};

Result<artifact::Form> named_form(std::string_view name, std::string_view subject) {
  const auto found = std::ranges::find(kForms, name, &NamedForm::name);
  if (found != kForms.end()) return found->form;
  return invalid_argument("[{}] expected {}, got \"{}\"", subject, fmt::join(form_names(), ", "),
                          name);
}

}  // namespace

std::span<const NamedForm> named_forms() {
  return kForms;
}

std::vector<std::string_view> form_names() {
  std::vector<std::string_view> names;
  for (const NamedForm& each : kForms) names.push_back(each.name);
  return names;
}

Result<artifact::Form> read_form(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) return named_form(name_or_file, "--form");
  ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(name_or_file));
  if (!json.is_object())
    return invalid_argument("[{}] expected an object of fields, got {}", name_or_file,
                            json.type_name());
  for (const auto& [field, value] : json.items())
    if (!value.is_string())
      return invalid_argument("[{}] expected a string for {}, got {}", name_or_file, field,
                              shortened(dump_json(value), 100));
  artifact::Form form = kForms.front().form;
  if (const Json* base = json_member(json, "form")) {
    ANEMONE_ASSIGN_OR_RETURN(form, named_form(base->get<std::string>(), "form").with(name_or_file));
  }
  for (const auto& [field, value] : json.items()) {
    if (field == "form") continue;
    const Status status = artifact::set_form_field(form, field, value.get<std::string>());
    if (!status.ok()) return status.with(name_or_file);
  }
  return form;
}

std::string_view name_of(const artifact::Form& form) {
  const auto found = std::ranges::find(kForms, form, &NamedForm::form);
  return found == kForms.end() ? std::string_view() : found->name;
}

std::string_view reason(std::string_view field, std::string_view value) {
  const auto found = std::ranges::find_if(
      kReasons, [&](const Reason& each) { return each.field == field && each.value == value; });
  return found == kReasons.end() ? std::string_view() : found->text;
}

}  // namespace anemone::ane

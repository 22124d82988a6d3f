// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/normalizer.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/tokenizer/pattern.h"
#include "text/unicode.h"

namespace anemone::text {
namespace {

using NormalizerPtr = std::unique_ptr<const Normalizer>;

// Units of WorkBudget per byte of text that a normalizer step costs.
constexpr std::size_t kStepUnits = 10;
// Bytes of memory per byte of text: the lower case of two bytes may have three, and a string that
// grows is there twice.
constexpr std::size_t kLowerBytes = 3;

class UnicodeForm : public Normalizer {
 public:
  explicit UnicodeForm(NormalForm form) : form_(form) {}
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    ANEMONE_RETURN_IF_ERROR(work.spend(text.size() * kStepUnits));
    if (is_surely_normal(text, form_)) return ok_status();
    MemoryCharge scratch(work);
    ANEMONE_RETURN_IF_ERROR(scratch.hold(text.size() * normal_form_bytes(form_)));
    text = normalize_unicode(text, form_);
    return held.hold(text.capacity());
  }

 private:
  NormalForm form_;
};

class Lowercase : public Normalizer {
 public:
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    ANEMONE_RETURN_IF_ERROR(work.spend(text.size() * kStepUnits));
    MemoryCharge scratch(work);
    ANEMONE_RETURN_IF_ERROR(scratch.hold(text.size() * kLowerBytes));
    text = to_lower(text);
    return held.hold(text.capacity());
  }
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    ANEMONE_RETURN_IF_ERROR(work.spend(text.size() * kStepUnits));
    if (text.empty()) return ok_status();
    MemoryCharge scratch(work);
    ANEMONE_RETURN_IF_ERROR(scratch.hold(prefix_.size() + text.size()));
    text = prefix_ + text;
    return held.hold(text.capacity());
  }

 private:
  std::string prefix_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    ANEMONE_ASSIGN_OR_RETURN(text, pattern_.replace_all(text, content_, work));
    return held.hold(text.capacity());
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    ANEMONE_RETURN_IF_ERROR(work.spend(text.size() * kStepUnits));
    if (right_) text.resize(trailing_space_begin(text, 0));
    if (left_) text.erase(0, leading_space_bytes(text));
    return held.hold(text.capacity());
  }

 private:
  bool left_;
  bool right_;
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const override {
    for (const auto& step : steps_) ANEMONE_RETURN_IF_ERROR(step->apply(text, held, work));
    return ok_status();
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

Result<NormalizerPtr> parse_replace(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::parse(json));
  ANEMONE_ASSIGN_OR_RETURN(auto content, json_string(json, "content", "normalizer Replace"));
  if (!content) return parse_error("[normalizer Replace] expected content, got none");
  return NormalizerPtr(std::make_unique<Replace>(std::move(pattern), std::move(*content)));
}

Result<NormalizerPtr> parse_normalizer_sequence(const Json& json) {
  const Json* list = json_member(json, "normalizers");
  if (list == nullptr || !list->is_array())
    return parse_error("[normalizer Sequence] expected a list of normalizers");
  std::vector<NormalizerPtr> steps;
  for (const Json& step : *list) {
    ANEMONE_ASSIGN_OR_RETURN(NormalizerPtr parsed, parse_normalizer(step));
    steps.push_back(std::move(parsed));
  }
  return NormalizerPtr(std::make_unique<NormalizerSequence>(std::move(steps)));
}

}  // namespace

Result<NormalizerPtr> parse_normalizer(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(json, "type", "normalizer"));
  if (!type) return parse_error("[normalizer] expected an object with a type");
  if (*type == "NFC") return NormalizerPtr(std::make_unique<UnicodeForm>(NormalForm::kNfc));
  if (*type == "NFD") return NormalizerPtr(std::make_unique<UnicodeForm>(NormalForm::kNfd));
  if (*type == "NFKC") return NormalizerPtr(std::make_unique<UnicodeForm>(NormalForm::kNfkc));
  if (*type == "NFKD") return NormalizerPtr(std::make_unique<UnicodeForm>(NormalForm::kNfkd));
  if (*type == "Lowercase") return NormalizerPtr(std::make_unique<Lowercase>());
  if (*type == "Replace") return parse_replace(json);
  if (*type == "Sequence") return parse_normalizer_sequence(json);
  if (*type == "Prepend") {
    ANEMONE_ASSIGN_OR_RETURN(auto prefix, json_string(json, "prepend", "normalizer Prepend"));
    if (!prefix) return parse_error("[normalizer Prepend] expected prepend, got none");
    return NormalizerPtr(std::make_unique<Prepend>(std::move(*prefix)));
  }
  if (*type == "Strip") {
    ANEMONE_ASSIGN_OR_RETURN(const auto left, json_bool(json, "strip_left", "normalizer Strip"));
    ANEMONE_ASSIGN_OR_RETURN(const auto right, json_bool(json, "strip_right", "normalizer Strip"));
    if (!left || !right)
      return parse_error("[normalizer Strip] expected strip_left and strip_right");
    return NormalizerPtr(std::make_unique<Strip>(*left, *right));
  }
  return unsupported("[normalizer] expected a supported type, got {}", *type);
}

}  // namespace anemone::text

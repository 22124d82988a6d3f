// SPDX-License-Identifier: Apache-2.0
#include "models/architecture.h"

#include <string>

#include "base/error.h"

namespace anemone::models {

extern const Architecture kGemma3;
extern const Architecture kGemma4;
extern const Architecture kGptOss;
extern const Architecture kGranite;
extern const Architecture kHunYuanDense;
extern const Architecture kLfm2;
extern const Architecture kLfm2Moe;
extern const Architecture kLlama;
extern const Architecture kMistral;
extern const Architecture kOlmo2;
extern const Architecture kOpenAiPrivacyFilter;
extern const Architecture kPhi3;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kQwen3Moe;
extern const Architecture kQwen3Next;
extern const Architecture kQwen35;
extern const Architecture kSmolLm3;
extern const Architecture kZaya;

namespace {
// The place of the names in messages.
constexpr const Architecture* kArchitectures[] = {&kGemma3,
                                                  &kGemma4,
                                                  &kGptOss,
                                                  &kGranite,
                                                  &kHunYuanDense,
                                                  &kLfm2,
                                                  &kLfm2Moe,
                                                  &kLlama,
                                                  &kMistral,
                                                  &kOlmo2,
                                                  &kOpenAiPrivacyFilter,
                                                  &kPhi3,
                                                  &kQwen2,
                                                  &kQwen3,
                                                  &kQwen3Moe,
                                                  &kQwen3Next,
                                                  &kQwen35,
                                                  &kSmolLm3,
                                                  &kZaya};
}  // namespace

Result<const Architecture*> find_architecture(std::string_view model_type) {
  std::string known;
  for (const Architecture* architecture : kArchitectures) {
    if (architecture->model_type == model_type) return architecture;
    known.append(known.empty() ? "" : ", ").append(architecture->model_type);
  }
  return unsupported("[model_type] expected one of {}, got \"{}\"", known, model_type);
}

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const Architecture* architecture : kArchitectures) names.push_back(architecture->model_type);
  return names;
}

}  // namespace anemone::models

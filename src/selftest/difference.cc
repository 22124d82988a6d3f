// SPDX-License-Identifier: Apache-2.0
#include "selftest/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "artifact/manifest.h"
#include "base/error.h"

namespace anemone::selftest {

double relative_error(std::span<const float> got, std::span<const float> expected) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kMasked = artifact::kMaskedScore / 2;
  if (got.size() != expected.size()) return kInfinite;
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto a = static_cast<double>(got[i]);
    const auto b = static_cast<double>(expected[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b) && b >= kMasked) size += b * b;
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinite;
    // Masked scores are so large that nothing else would count beside them, and their values do not
    // matter: softmax gives 0 there.
    if (a < kMasked && b < kMasked) continue;
    difference += (a - b) * (a - b);
    size += b * b;
  }
  if (difference == 0) return 0;
  return size == 0 ? kInfinite : std::sqrt(difference / size);
}

double relative_error(const TensorView& got, const TensorView& expected) {
  return relative_error(to_floats(got), to_floats(expected));
}

double largest(const Errors& errors) {
  double out = 0;
  for (const auto& [name, error] : errors) out = std::max(out, error);
  return out;
}

Result<Errors> errors_of(const exec::Outputs& got, const exec::Outputs& expected) {
  Errors out;
  for (const exec::NamedTensor& each : expected) {
    const Tensor* found = exec::find_output(got, each.name);
    if (found == nullptr) return internal_error("[{}] expected an output, got none", each.name);
    out.emplace_back(each.name, relative_error(found->view(), each.tensor.view()));
  }
  return out;
}

Result<Errors> errors_of(const exec::StateStore* got, const exec::StateStore* expected) {
  Errors out;
  if (expected == nullptr) return out;
  if (got == nullptr) return internal_error("expected states, got none");
  for (const exec::Feature& feature : expected->states()) {
    ANEMONE_ASSIGN_OR_RETURN(const Tensor a, got->read(feature.name));
    ANEMONE_ASSIGN_OR_RETURN(const Tensor b, expected->read(feature.name));
    out.emplace_back(feature.name, relative_error(a.view(), b.view()));
  }
  return out;
}

}  // namespace anemone::selftest

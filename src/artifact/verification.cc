// SPDX-License-Identifier: Apache-2.0
#include "artifact/verification.h"

#include "artifact/manifest_check.h"
#include "base/error.h"

namespace anemone::artifact {

bool meets(const Agreement& agreement, const AgreementLimits& limits) {
  return agreement.cosine_mean >= limits.min_cosine && agreement.top1_near >= limits.min_top1 &&
         agreement.perplexity <= limits.max_perplexity_ratio * agreement.reference_perplexity;
}

Status check_verification(const Verification& verification, std::string_view subject) {
  const Agreement& agreement = verification.agreement;
  if (agreement.tokens < 2)
    return corrupt("[{}] expected verification.tokens of at least 2, got {}", subject,
                   agreement.tokens);
  if (!is_sha256(verification.ids_sha256))
    return corrupt("[{}] expected 64 lower-case hex digits as verification.ids_sha256, got \"{}\"",
                   subject, verification.ids_sha256);
  struct Field {
    const char* name;
    double value;
    double low;
    double high;
  };
  // The largest perplexity that compare_models() can give is e^100.
  constexpr double kMost = 1e44;
  for (const auto& [name, value, low, high] :
       {Field{"cosine_mean", agreement.cosine_mean, -1, 1},
        Field{"cosine_median", agreement.cosine_median, -1, 1},
        Field{"cosine_min", agreement.cosine_min, -1, 1}, Field{"top1", agreement.top1, 0, 1},
        Field{"top1_near", agreement.top1_near, 0, 1},
        Field{"min_cosine", verification.limits.min_cosine, -1, 1},
        Field{"min_top1", verification.limits.min_top1, 0, 1},
        Field{"max_perplexity_ratio", verification.limits.max_perplexity_ratio, 0, kMost},
        Field{"perplexity", agreement.perplexity, 1, kMost},
        Field{"reference_perplexity", agreement.reference_perplexity, 1, kMost}})
    if (!(value >= low && value <= high))
      return corrupt("[{}] expected verification.{} between {} and {}, got {}", subject, name, low,
                     high, value);
  if (verification.passed != meets(agreement, verification.limits))
    return corrupt("[{}] expected verification.passed to follow from its figures, got {}", subject,
                   verification.passed);
  return {};
}

std::string_view verdict_name(const std::optional<Verification>& verification) {
  if (!verification) return "unverified";
  return verification->passed ? "passed verify" : "FAILED verify";
}

}  // namespace anemone::artifact

// SPDX-License-Identifier: Apache-2.0
#include "artifact/verification.h"

#include <nlohmann/json.hpp>

#include "artifact/manifest_check.h"
#include "artifact/object_reader.h"

namespace anemone::artifact {

bool meets(const Agreement& agreement, const AgreementLimits& limits) {
  return agreement.cosine_mean >= limits.min_cosine && agreement.top1_near >= limits.min_top1 &&
         agreement.perplexity <= limits.max_perplexity_ratio * agreement.reference_perplexity;
}

Json to_json(const Verification& verification) {
  const Agreement& agreement = verification.agreement;
  Json out = Json::object();
  out["passed"] = verification.passed;
  out["against"] = verification.against;
  out["text"] = verification.text;
  out["ids_sha256"] = verification.ids_sha256;
  out["tokens"] = agreement.tokens;
  out["cosine_mean"] = agreement.cosine_mean;
  out["cosine_median"] = agreement.cosine_median;
  out["cosine_min"] = agreement.cosine_min;
  out["top1"] = agreement.top1;
  out["top1_near"] = agreement.top1_near;
  out["perplexity"] = agreement.perplexity;
  out["reference_perplexity"] = agreement.reference_perplexity;
  out["min_cosine"] = verification.limits.min_cosine;
  out["min_top1"] = verification.limits.min_top1;
  out["max_perplexity_ratio"] = verification.limits.max_perplexity_ratio;
  out["producer"] = verification.producer;
  return out;
}

Result<Verification> read_verification(const ObjectReader& reader) {
  Verification out;
  Agreement& agreement = out.agreement;
  ANEMONE_RETURN_IF_ERROR(reader.read("passed", out.passed));
  ANEMONE_RETURN_IF_ERROR(reader.read("against", out.against));
  ANEMONE_RETURN_IF_ERROR(reader.read("text", out.text));
  ANEMONE_RETURN_IF_ERROR(reader.read("ids_sha256", out.ids_sha256));
  ANEMONE_RETURN_IF_ERROR(reader.read("tokens", agreement.tokens));
  ANEMONE_RETURN_IF_ERROR(reader.read("cosine_mean", agreement.cosine_mean));
  ANEMONE_RETURN_IF_ERROR(reader.read("cosine_median", agreement.cosine_median));
  ANEMONE_RETURN_IF_ERROR(reader.read("cosine_min", agreement.cosine_min));
  ANEMONE_RETURN_IF_ERROR(reader.read("top1", agreement.top1));
  ANEMONE_RETURN_IF_ERROR(reader.read("top1_near", agreement.top1_near));
  ANEMONE_RETURN_IF_ERROR(reader.read("perplexity", agreement.perplexity));
  ANEMONE_RETURN_IF_ERROR(reader.read("reference_perplexity", agreement.reference_perplexity));
  ANEMONE_RETURN_IF_ERROR(reader.read("min_cosine", out.limits.min_cosine));
  ANEMONE_RETURN_IF_ERROR(reader.read("min_top1", out.limits.min_top1));
  ANEMONE_RETURN_IF_ERROR(reader.read("max_perplexity_ratio", out.limits.max_perplexity_ratio));
  ANEMONE_RETURN_IF_ERROR(reader.read("producer", out.producer));
  return out;
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

// SPDX-License-Identifier: Apache-2.0
// The verdict of `anemone verify`, as the manifest keeps it: how near an artifact comes to the
// weights that it was compiled from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace anemone::artifact {

// How closely the logits of a model follow those of a reference over a list of tokens. Logits are
// compared at the position of every token.
struct Agreement {
  std::int64_t tokens = 0;
  // Mean of the cosine similarity of the logits of each position; 0 where the model's are not
  // finite.
  double cosine_mean = 0;
  double cosine_median = 0;
  double cosine_min = 0;
  double top1 = 0;  // share of positions at which both have the same highest logit
  // Share of positions at which the model picks a token that the reference finds at least nine
  // tenths as likely as its own choice: among near equals the choice says nothing about quality.
  double top1_near = 0;
  // exp of the mean negative log-likelihood of each next token.
  double perplexity = 0;
  double reference_perplexity = 0;
};

// What an artifact must reach to pass.
struct AgreementLimits {
  double min_cosine = 0.99;           // of the mean
  double min_top1 = 0.9;              // of top1_near
  double max_perplexity_ratio = 1.1;  // perplexity / reference_perplexity
};

struct Verification {
  std::string producer;    // "anemone 0.1.0": the version that verified
  std::string against;     // name of the checkpoint
  std::string text;        // "built-in", "ids", or the name of the text file
  std::string ids_sha256;  // of the ids in decimal, one space between
  Agreement agreement;
  AgreementLimits limits;
  bool passed = false;
};

// Whether all limits are met.
bool meets(const Agreement& agreement, const AgreementLimits& limits);

// "unverified", "passed verify" or "FAILED verify".
std::string_view verdict_name(const std::optional<Verification>& verification);

Json to_json(const Verification& verification);

}  // namespace anemone::artifact

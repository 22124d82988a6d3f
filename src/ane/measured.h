// SPDX-License-Identifier: Apache-2.0
// What a Mac measured with the packages of `anemone probe`. It overrides what others reported: a
// law that did not hold there breaks nothing, and a contested one that did is no longer contested.
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "ane/law.h"
#include "base/json.h"

namespace anemone::ane {

struct MeasuredLaw {
  const Law* law = nullptr;
  bool holds = false;
  Severity severity = Severity::kSlow;  // where it holds: refused or slow
  std::string what;  // "0 of 24 operations on the chip, 24 of 24 with quant-int8-channel"
};

struct Measurements {
  std::string system;  // "macOS 26.1 (25B78)"
  std::string model;   // "Mac16,1"
  std::vector<MeasuredLaw> laws;

  const MeasuredLaw* of(const Law& law) const;  // nullptr when it was not measured
};

// Reads results.json (docs/probe-results.md). A law is decided where both the
// probe that breaks it and the one that keeps it were measured, in this order: the first fails or
// computes something else, has fewer operations on the chip, or takes 1.15 times as long. Probes of
// which the file has no result leave their law as it is, and results without a probe are not looked
// at. kParseError with the place; `subject` starts each error.
Result<Measurements> parse_measurements(const Json& json, const std::string& subject);

}  // namespace anemone::ane

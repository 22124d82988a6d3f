// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/check.h"
#include "ane/chip.h"
#include "artifact/manifest.h"
#include "base/json.h"
#include "cli/check_hints.h"
#include "cli/inspect.h"

namespace anemone::cli {

struct BrokenLaw {
  ane::Severity severity;  // of the law, or as it was measured
  const ane::Law* law;
};
// The laws that are broken, the most severe first.
std::vector<BrokenLaw> broken_laws(const std::vector<ane::CheckedPackage>& packages);
// The ids of the broken laws of one severity.
std::vector<std::string> broken_laws(const std::vector<ane::CheckedPackage>& packages,
                                     ane::Severity severity);

// Convolutions and linear operations that are predicted off the chip, in all functions.
std::size_t products_off_chip(const std::vector<ane::CheckedPackage>& packages);

struct CheckReportOptions {
  const ane::Chip* chip = &ane::default_chip();  // of which times are estimated; not null
  const ane::Measurements* measured = nullptr;   // that the findings follow
  bool has_notes = false;                        // the text explains notes, too
  const artifact::Manifest* manifest = nullptr;  // of the packages, for the time of a step
  bool has_operations = false;                   // the JSON has every operation with its device
  bool has_hints = false;                        // each broken law has its hints
  bool is_anemone = true;                        // anemone wrote the packages

  Writer writer() const { return {is_anemone, manifest}; }
};

// Equal findings of a law: what was found at `count` places, and the first of them.
struct FoundLine {
  std::string found;
  ane::Place::Kind kind = ane::Place::Kind::kPackage;
  std::size_t count = 0;
  std::string first;  // "layers_00_05.mlpackage decode layer_0_norm"; not escaped
};
std::vector<FoundLine> found_lines(const ane::Law& law,
                                   const std::vector<ane::CheckedPackage>& packages);

// The parts that all forms of the report have: a law without its places, the sums of a function
// with its estimate, the steps of a model, and an operation with its device. A measurement stands
// before the sources of its law. `hints` may be nullptr: the law then has no member "hints".
Json law_json(const ane::Law& law, ane::Severity severity, const ane::Measurements* measured,
              const std::vector<ane::Hint>* hints);
Json function_json(const ane::PlacedFunction& function, const ane::Chip& chip);
Json steps_json(const std::vector<ane::CheckedPackage>& packages,
                const CheckReportOptions& options);
Json operation_json(const ane::PlacedOperation& operation);

// What was found in all packages of `path`: the text has a line for each function with what it
// computes and where, a paragraph for each broken law, in which equal findings are one line, and
// ends with the number of broken laws by severity.
Report check_report(const std::string& path, const std::vector<ane::CheckedPackage>& packages,
                    const CheckReportOptions& options = {});

}  // namespace anemone::cli

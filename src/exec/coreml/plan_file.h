// SPDX-License-Identifier: Apache-2.0
// What Core ML planned for the functions of packages, as a file that one Mac writes and any machine
// reads. docs/probe-results.md has the schema, which the results of `anemone probe` share: theirs
// count operations, and these list them.
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

// The plan of one function, or why there is none.
struct PlannedFunction {
  std::string package;  // the last part of its path; of a probe, the path in its kit
  std::string function;
  std::string error;  // what Core ML said; then there are no operations
  ComputePlan operations;
};

struct PlanFile {
  std::string anemone;  // the version that wrote the file
  std::string system;   // "macOS 15.1 (24B83)"
  std::string model;    // of the Mac: "Mac16,10"
  std::vector<PlannedFunction> functions;

  // The plan of a function of the package at an absolute path, whose last parts are those that the
  // plan has; endings do not count, since a compiled model has another one. nullptr when the file
  // has none.
  const PlannedFunction* find(std::string_view package, std::string_view function) const;
};

std::string_view device_name(Device device);  // "ane", "gpu", "cpu", "unknown"

// JSON text, with a line end.
std::string plan_text(const PlanFile& file);

// Reads such a file. Results that neither list operations nor say an error, as those of probes,
// are left out; of several for one function the first counts. kParseError with the place for a
// file of another kind, for operations without a name or a type, for unknown devices, and for costs
// outside of 0 to 1. `subject` starts each error.
Result<PlanFile> parse_plan_file(const Json& json, const std::string& subject);

}  // namespace anemone::exec::coreml

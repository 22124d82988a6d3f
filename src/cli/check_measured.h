// SPDX-License-Identifier: Apache-2.0
// What Core ML planned for packages beside what the laws predict of them.
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "ane/check.h"
#include "api/residency.h"
#include "cli/inspect.h"
#include "exec/coreml/plan_file.h"

namespace anemone::cli {

struct MeasuredPlacement {
  std::string system;  // of the Mac that made the plans
  std::string model;
  api::ModelResidency planned;  // functions of which there is a plan, in the order of the packages
  struct Failed {
    std::string package;
    std::string function;
    std::string error;  // what Core ML said
  };
  std::vector<Failed> failed;
  std::vector<std::string> missing;  // functions that the file has nothing of

  // kCheckFailed where a function failed or is missing, or a product is planned off the chip.
  Status check_products(const std::string& subject) const;
};

// `paths` are those of the packages.
MeasuredPlacement measured_placement(const std::vector<ane::CheckedPackage>& packages,
                                     const std::vector<std::string>& paths,
                                     const exec::coreml::PlanFile& plans);

// Adds to a report of check_report() what a Mac measured: laws by its probes, functions by the plan
// of Core ML; nullptr: nothing of that kind. The text gets a line per law, a line per function with
// its verdict and a line per kind of operation that is not placed as predicted; the JSON gets
// `measured` with all laws and every such operation.
void add_measured(const ane::Measurements* laws, const MeasuredPlacement* placed, Report& report);

}  // namespace anemone::cli

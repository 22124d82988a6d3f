// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/check.h"
#include "cli/inspect.h"

namespace anemone::cli {

// The broken rules of one severity, by id.
std::vector<std::string> broken_rules(const std::vector<ane::CheckedPackage>& packages,
                                      ane::Severity severity);

// What was found in all packages of `path`: the text has a paragraph for each broken rule, in which
// equal findings are one line, and ends with the number of broken rules by severity.
Report check_report(const std::string& path, const std::vector<ane::CheckedPackage>& packages);

}  // namespace anemone::cli

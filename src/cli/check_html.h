// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/check.h"
#include "cli/check_report.h"

namespace anemone::cli {

// The report of `anemone check` as one HTML page that needs no network: what was found in the
// packages of `path`, and the device on which each operation is predicted to run. `is_chip_named`:
// the user named the chip for which times are estimated (--chip). `measured` is the member
// "measured" of the JSON report (cli/check_measured.h); null if no Mac measured anything.
std::string check_html(const std::string& path, const std::vector<ane::CheckedPackage>& packages,
                       const CheckReportOptions& options, bool is_chip_named, const Json& measured);

}  // namespace anemone::cli

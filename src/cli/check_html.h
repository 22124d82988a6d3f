// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/check.h"
#include "cli/check_report.h"

namespace anemone::cli {

// One page that a browser shows without a network: what was found in the packages of `path`, and
// where each operation is predicted to run. `is_chip_named`: the user chose the chip. `measured` is
// that of the report's JSON (cli/check_measured.h); null where no Mac measured anything.
std::string check_html(const std::string& path, const std::vector<ane::CheckedPackage>& packages,
                       const CheckReportOptions& options, bool is_chip_named, const Json& measured);

}  // namespace anemone::cli

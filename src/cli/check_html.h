// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/check.h"
#include "ane/chip.h"

namespace anemone::cli {

// One page that a browser shows without a network: what was found in the packages of `path`, and
// where each operation is predicted to run. `is_named`: the user chose the chip.
std::string check_html(const std::string& path, const std::vector<ane::CheckedPackage>& packages,
                       const ane::Chip& chip, bool is_named);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// "1 2 3" (spaces, line ends or commas between) or @FILE with the same. `flag` names the option in
// errors. kInvalidArgument for a bad text, kParseError for a bad file.
Result<std::vector<std::int32_t>> parse_token_ids(const std::string& text, std::string_view flag);

}  // namespace anemone::cli

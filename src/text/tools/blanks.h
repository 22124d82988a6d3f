// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace anemone::text {

// The white space of JSON, which is also what stands beside markers.
inline constexpr std::string_view kBlanks = " \t\r\n";

inline bool is_blank(char byte) {
  return kBlanks.find(byte) != kBlanks.npos;
}

}  // namespace anemone::text

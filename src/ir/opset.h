// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string_view>

namespace anemone::ir {

// The generation of the operation set. The number is Core ML's: opset string "CoreML<n>",
// specification version n + 1.
enum class Opset { kIOS15 = 5, kIOS16 = 6, kIOS17 = 7, kIOS18 = 8, kIOS26 = 9 };

std::string_view opset_string(Opset opset);  // "CoreML8": as written in a package
std::string_view opset_target(
    Opset opset);  // "ios18": as written in MIL text and on the command line
std::optional<Opset> parse_opset_string(std::string_view text);
std::optional<Opset> parse_opset_target(std::string_view text);
inline int specification_version(Opset opset) {
  return static_cast<int>(opset) + 1;
}

}  // namespace anemone::ir

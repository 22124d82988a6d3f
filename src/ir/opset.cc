// SPDX-License-Identifier: Apache-2.0
#include "ir/opset.h"

#include <array>

namespace anemone::ir {
namespace {

// The rows are in the order of the enumeration, whose first number is 5.
struct Row {
  Opset opset;
  std::string_view string;
  std::string_view target;
};
constexpr std::array<Row, 5> kRows = {{{Opset::kIOS15, "CoreML5", "ios15"},
                                       {Opset::kIOS16, "CoreML6", "ios16"},
                                       {Opset::kIOS17, "CoreML7", "ios17"},
                                       {Opset::kIOS18, "CoreML8", "ios18"},
                                       {Opset::kIOS26, "CoreML9", "ios26"}}};

const Row& row(Opset opset) {
  return kRows[static_cast<std::size_t>(opset) - 5];
}

}  // namespace

std::string_view opset_string(Opset opset) {
  return row(opset).string;
}
std::string_view opset_target(Opset opset) {
  return row(opset).target;
}

std::optional<Opset> parse_opset_string(std::string_view text) {
  for (const Row& entry : kRows)
    if (entry.string == text) return entry.opset;
  return std::nullopt;
}

std::optional<Opset> parse_opset_target(std::string_view text) {
  for (const Row& entry : kRows)
    if (entry.target == text) return entry.opset;
  return std::nullopt;
}

}  // namespace anemone::ir

// SPDX-License-Identifier: Apache-2.0
// The chips with a Neural Engine that anemone knows, from A14 and M1 on, and how fast they are.
#pragma once

#include <anemone/status.h>

#include <span>
#include <string_view>

namespace anemone::ane {

// Chips of one generation have the same Neural Engine, but for the number of its cores and the
// memory behind it: M1 is of generation 14, as A14 is.
struct Generations {
  int first = 0;
  int last = 99;
  bool contains(int generation) const { return first <= generation && generation <= last; }
  bool operator==(const Generations&) const = default;
};
inline constexpr int kOldestGeneration = 14;
inline constexpr int kNewestGeneration = 19;

struct Chip {
  std::string_view id;    // "m4-max", as --chip takes it
  std::string_view name;  // "M4 Max"
  int generation;
  // What the chip's Neural Engine streams from memory, in 10^9 bytes per second.
  double gigabytes_per_second;
  std::string_view bandwidth_source;
  // Multiplications with additions of fp16, in 10^12 per second; half of the operations that Apple
  // states, as each is a multiplication and an addition, and of those for int8 where Apple counts
  // them twice.
  double teramacs_per_second;
  std::string_view rate_source;
};

std::span<const Chip> chips();  // from the oldest on
// kInvalidArgument names the chips that there are. Takes "M4 Max", "m4-max" and "m4max".
Result<const Chip*> parse_chip(std::string_view text);
// The newest specification version that a system such as "ios16" or "macOS 13" can load.
// kInvalidArgument names the systems.
Result<int> parse_target(std::string_view text);
const Chip& default_chip();  // of which an estimate is given when none is named

}  // namespace anemone::ane

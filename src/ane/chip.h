// SPDX-License-Identifier: Apache-2.0
// The chips with a Neural Engine that anemone knows, how fast they are, and the names of systems.
#pragma once

#include <anemone/status.h>

#include <span>
#include <string_view>

namespace anemone::ane {

// Chips of one generation have the same Neural Engine, but for the number of its cores and the
// memory behind it: M1 is of generation 14, as A14 is.
struct Generations {
  int first = 0;
  int last = 99;  // no end
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
  // Multiplications with additions (MACs) of fp16, in 10^12 per second. Apple counts a MAC as two
  // operations: 11 * 10^12 of an M1 are 5.5 here. Where it states int8, whose rate it counts as
  // twice that of fp16, the number is a quarter: 35 * 10^12 of an A17 Pro are 8.75.
  double teramacs_per_second;
  std::string_view rate_source;
};

std::span<const Chip> chips();  // from the oldest on
// kInvalidArgument names the chips that there are. Takes "M4 Max", "m4-max" and "m4max".
Result<const Chip*> parse_chip(std::string_view text);
// The newest specification version that a system such as "ios16" or "macOS 13" can load.
// kInvalidArgument names the systems.
Result<int> parse_target(std::string_view text);
const Chip& default_chip();  // estimates are for this one when the user names none

}  // namespace anemone::ane

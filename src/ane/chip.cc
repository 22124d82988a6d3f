// SPDX-License-Identifier: Apache-2.0
#include "ane/chip.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "base/error.h"

namespace anemone::ane {
namespace {

// What a chip's Neural Engine streams was measured for six chips (anemll-bench). Of another one it
// is taken to be what the next measured chip of its kind streams, or the rate of its memory where
// that is lower: 34.1 GB/s of LPDDR4X-4266, 51.2 of LPDDR5-6400, 60 of LPDDR5X-7500, each of 64
// bits.
constexpr std::string_view kAnemllBench = "anemll-bench, measured";
constexpr std::string_view kMemoryRate = "the rate of its memory; not measured";
constexpr std::string_view kNeighbour = "as measured of the next chip; not measured";
// Apple's 11, 15.8, 17 and 18 * 10^12 operations per second are of fp16; 35 and 38 are of int8.
constexpr std::string_view kApple = "half of Apple's operations per second";
constexpr std::string_view kAppleInt8 = "a quarter of Apple's operations per second for int8";
constexpr std::string_view kMaderix = "maderix/ANE, measured: 18.6 * 10^12 operations per second";
constexpr std::string_view kAsM4 = "as measured of an M4; Apple states none";
constexpr std::string_view kAsMax =
    "as of its Max; nobody measured what the second Neural Engine adds";

constexpr Chip kChips[] = {
    {"a14", "A14", 14, 34.1, kMemoryRate, 5.5, kApple},
    {"m1", "M1", 14, 61, kAnemllBench, 5.5, kApple},
    {"m1-pro", "M1 Pro", 14, 61, kNeighbour, 5.5, kApple},
    {"m1-max", "M1 Max", 14, 61, kNeighbour, 5.5, kApple},
    {"m1-ultra", "M1 Ultra", 14, 61, kNeighbour, 5.5, kAsMax},
    {"a15", "A15", 15, 34.1, kMemoryRate, 7.9, kApple},
    {"m2", "M2", 15, 61, kNeighbour, 7.9, kApple},
    {"m2-pro", "M2 Pro", 15, 61, kNeighbour, 7.9, kApple},
    {"m2-max", "M2 Max", 15, 61, kNeighbour, 7.9, kApple},
    {"m2-ultra", "M2 Ultra", 15, 61, kNeighbour, 7.9, kAsMax},
    {"a16", "A16", 16, 51.2, kMemoryRate, 8.5, kApple},
    {"a17-pro", "A17 Pro", 17, 51.2, kMemoryRate, 8.75, kAppleInt8},
    {"m3", "M3", 17, 61, kNeighbour, 9, kApple},
    {"m3-pro", "M3 Pro", 17, 61, kNeighbour, 9, kApple},
    {"m3-max", "M3 Max", 17, 120, kAnemllBench, 9, kApple},
    {"m3-ultra", "M3 Ultra", 17, 120, kNeighbour, 9, kAsMax},
    {"a18", "A18", 18, 60, kMemoryRate, 8.75, kAppleInt8},
    {"a18-pro", "A18 Pro", 18, 60, kMemoryRate, 8.75, kAppleInt8},
    {"m4", "M4", 18, 64, kAnemllBench, 9.3, kMaderix},
    {"m4-pro", "M4 Pro", 18, 126, kAnemllBench, 9.3, kMaderix},
    {"m4-max", "M4 Max", 18, 119, kAnemllBench, 9.3, kMaderix},
    {"a19", "A19", 19, 60, kNeighbour, 9.3, kAsM4},
    {"a19-pro", "A19 Pro", 19, 60, kNeighbour, 9.3, kAsM4},
    {"m5", "M5", 19, 70, kAnemllBench, 9.3, kAsM4},
    {"m5-pro", "M5 Pro", 19, 70, kNeighbour, 9.3, kAsM4},
    {"m5-max", "M5 Max", 19, 70, kNeighbour, 9.3, kAsM4},
};

// "M4 Max" and "m4-max" are "m4max".
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::span<const Chip> chips() {
  return kChips;
}

Result<const Chip*> parse_chip(std::string_view text) {
  for (const Chip& chip : kChips)
    if (plain(chip.id) == plain(text)) return &chip;
  std::vector<std::string_view> ids;
  for (const Chip& chip : kChips) ids.push_back(chip.id);
  // Chips of phones come before chips of Macs.
  std::stable_partition(ids.begin(), ids.end(),
                        [](std::string_view id) { return id.starts_with('a'); });
  return invalid_argument("[--chip] expected one of {}, got \"{}\"", fmt::join(ids, ", "), text);
}

Result<int> parse_target(std::string_view text) {
  struct Target {
    std::string_view ios;
    std::string_view macos;
    int version;
  };
  constexpr Target kTargets[] = {{"ios15", "macos12", 6},
                                 {"ios16", "macos13", 7},
                                 {"ios17", "macos14", 8},
                                 {"ios18", "macos15", 9},
                                 {"ios26", "macos26", 10}};
  std::vector<std::string_view> names;
  for (const Target& each : kTargets) {
    if (plain(text) == each.ios || plain(text) == each.macos) return each.version;
    names.insert(names.end(), {each.ios, each.macos});
  }
  return invalid_argument("[--target] expected one of {}, got \"{}\"", fmt::join(names, ", "),
                          text);
}

const Chip& default_chip() {
  return *std::ranges::find(kChips, "m4", &Chip::id);
}

}  // namespace anemone::ane

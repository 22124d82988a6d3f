// SPDX-License-Identifier: Apache-2.0
// Which numbers an option takes, as checks that say it the way a person does: "expected 1 to 256,
// got 900", "expected at least 1, got 0".
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// Whole numbers from least to most, both included.
CLI::Validator whole_numbers(std::int64_t least, std::int64_t most);

// Whole numbers from least up to what an int64 holds; the help names no bound.
CLI::Validator at_least(std::int64_t least);

// Finite numbers from least to most, both included.
CLI::Validator numbers(double least, double most);

// More than any text has.
inline constexpr std::int64_t kManyTokens = std::int64_t{1} << 40;

// Numbers of tokens from least to most, of which kManyTokens is no bound that is named; "4k" is
// 4096. For CLI::Option::transform(), which lets it write the number in place of the text.
CLI::Validator token_counts(std::int64_t least, std::int64_t most);

// A number of bytes: "500mb", "20GB", "1.5 gib", or bytes alone. kInvalidArgument naming the flag.
Result<std::uint64_t> parse_size(std::string_view text, std::string_view flag);

// duration_of(). kInvalidArgument naming the flag.
Result<std::chrono::milliseconds> parse_duration(std::string_view text, std::string_view flag);

// One of these words, in small or capital letters; an error names them.
// For check() and, to have the word as it is listed, transform().
CLI::Validator one_of(std::vector<std::string> words);

// Seeds, as requests have them: every int64.
CLI::Validator seeds();

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// Which numbers an option takes, as checks that say it the way a person does: "expected 1 to 256,
// got 900", "expected at least 1, got 0".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace anemone::cli {

// Whole numbers from least to most, both included.
CLI::Validator whole_numbers(std::int64_t least, std::int64_t most);

// Whole numbers from least up to what an int64 holds; the help names no bound.
CLI::Validator at_least(std::int64_t least);

// Finite numbers from least to most, both included.
CLI::Validator numbers(double least, double most);

// Seeds, as requests have them: every int64.
CLI::Validator seeds();

}  // namespace anemone::cli

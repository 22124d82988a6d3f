// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anemone::compiler::testing {

// Three outputs of split heads, of which the last one is narrower. All are multiples of the group
// of a palette.
inline constexpr std::int64_t kWideVocabulary = 40'000;

// A tiny checkpoint of tests/compiler/data, with this vocabulary and random rows, in a new
// `folder`. Fails the test on an error.
void write_wide(const std::string& name, const std::string& folder);

}  // namespace anemone::compiler::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anemone::compiler::testing {

// A vocabulary that is split over three outputs of a head (HeadOutputs::kSplit), of which the last
// one is narrower. All three are multiples of the rows that share a palette.
inline constexpr std::int64_t kWideVocabulary = 40'000;

// Writes the tiny checkpoint `name` of tests/compiler/data to a new `folder`, with embeddings and a
// head of kWideVocabulary random rows. Fails the test on an error.
void write_wide(const std::string& name, const std::string& folder);

}  // namespace anemone::compiler::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>
#include <vector>

#include "text/regex.h"

namespace anemone::text {

// What becomes of the text that a Split's pattern matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Result<SplitBehavior> parse_split_behavior(std::string_view name);

// Appends the non-empty parts of a text of `size` bytes whose pattern matched at `matches`
// (ordered, no overlap). `invert`: the text between the matches counts as matched instead.
void split_around(std::size_t size, const std::vector<Match>& matches, SplitBehavior behavior,
                  bool invert, std::vector<Match>& parts);

}  // namespace anemone::text

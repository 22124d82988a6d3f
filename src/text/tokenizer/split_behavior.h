// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "base/charged.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/regex.h"

namespace anemone::text {

// What becomes of the text that a Split's pattern matches.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Result<SplitBehavior> parse_split_behavior(std::string_view name);

// Appends the non-empty parts of a piece whose text the pattern matched at `matches` (ordered, no
// overlap). `invert`: the text between the matches counts as matched instead. The error is that of
// the budget that the parts are charged to.
Status split_around(const Piece& piece, const ChargedVector<Match>& matches, SplitBehavior behavior,
                    bool invert, ChargedVector<Piece>& parts);

}  // namespace anemone::text

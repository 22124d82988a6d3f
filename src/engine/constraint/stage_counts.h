// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace anemone::engine {

// The tokens of an answer by the stages that they belong to; together they are all of its tokens.
struct StageCounts {
  std::string name;  // of the manifest
  std::int64_t forced_tokens = 0;
  std::int64_t field_content_tokens = 0;
  std::int64_t field_newline_tokens = 0;
  std::int64_t open_tokens = 0;  // with the one that ends the text
  std::int64_t fields_completed = 0;
  std::int64_t active_stage = 0;  // of the next token; the number of stages after the last one
  std::vector<std::int64_t> field_token_counts;  // content of each field of the manifest
};

// {"name", "forced_tokens", ...}: the members above under their names, the name only if there is
// one.
Json stage_counts_json(const StageCounts& counts);
// What stage_counts_json() has written. kParseError for anything else.
Result<StageCounts> parse_stage_counts(const Json& json);

}  // namespace anemone::engine

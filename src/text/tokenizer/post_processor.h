// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace anemone::text {

// The special tokens that stand around one text when they are asked for. Thread-safe.
struct PostProcessor {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
};

// The "post_processor" of a tokenizer.json: TemplateProcessing, BertProcessing, RobertaProcessing,
// ByteLevel (no tokens) and Sequence. kUnsupported names any other, and more than 1024 tokens on
// one side.
Result<PostProcessor> parse_post_processor(const Json& json);

}  // namespace anemone::text

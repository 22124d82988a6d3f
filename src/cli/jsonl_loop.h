// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <string>

#include "base/json.h"

namespace anemone::cli {

// The --stdin-jsonl forms: one line of JSON on stdout for every line of stdin, in order, flushed
// each. A line that is no JSON, or longer than 64 MiB, is answered {"error": ...}. kIo when stdin
// or stdout fails.
Status answer_lines(const std::function<Json(const Json& request)>& answer);

// Answers lines without parsing them: `answer` gets the text of each line, which may be empty, or
// an error if the line is longer than 64 MiB.
Status answer_raw_lines(const std::function<Json(const Result<std::string>& line)>& answer);

// All of stdin. kInvalidArgument for more than 64 MiB, kIo when it cannot be read.
Result<std::string> read_stdin();

}  // namespace anemone::cli

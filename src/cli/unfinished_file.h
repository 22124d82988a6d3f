// SPDX-License-Identifier: Apache-2.0
// Files of a model that only look as if they were there: what Git leaves in place of large files,
// and what a download that was cut short leaves. Said as that, before a reader calls them damaged.
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// Ok for a file or folder without such files. kCorrupt naming the first one, its size, the size
// that it should have where that is known, and what to do. Only the names that models have are
// looked at (weights, config.json, tokenizer.json), and of them the beginning.
Status check_finished(const std::string& model);

}  // namespace anemone::cli

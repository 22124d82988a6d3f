// SPDX-License-Identifier: Apache-2.0
// Files of a model that only look as if they were there: what Git leaves in place of large files,
// and what a download leaves that did not begin or end. Said as that, before a reader calls them
// damaged; the readers themselves say of a file that it was cut short.
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// Ok for a file or folder without such files. kCorrupt naming the first one, its size, the size
// that it should have where that is known, and what to do. Only the names that models have are
// looked at (weights, config.json, tokenizer.json), and of them the size and, of tiny ones, what is
// in them.
Status check_finished(const std::string& model);

}  // namespace anemone::cli

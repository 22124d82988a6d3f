// SPDX-License-Identifier: Apache-2.0
// Finds files of a model that are not really there: pointers that Git LFS leaves in place of large
// files, and what a download leaves that did not begin or end. They are named as such before a
// reader calls them damaged. The readers themselves say of a file that it was cut short.
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// Ok for a file or folder without such files. kCorrupt naming the first one, its size, the size
// that it should have if that is known, and what to do. It only looks at files with the names that
// models have (weights, config.json, tokenizer.json), and reads only those that are small enough
// for a pointer.
Status check_finished(const std::string& model);

}  // namespace anemone::cli

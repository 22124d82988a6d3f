// SPDX-License-Identifier: Apache-2.0
// The one rule for where a command may write the files that its flags name.
#pragma once

#include <anemone/status.h>

#include <span>
#include <string>
#include <vector>

namespace anemone::cli {

// Checks before the work begins. Ok when each of `files` (an empty name stands for no file) can
// become a regular file that replaces nothing but a regular file, in a folder that is there and
// takes one; none lies among the files of one of `models` (files or folders; what is not there is
// not asked) or in the cache of compiled models; no two are the same. kInvalidArgument or kIo
// naming the file.
Status check_output_files(std::span<const std::string> files,
                          const std::vector<std::string>& models);
Status check_output_file(const std::string& file, const std::string& model);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// Makes the folder if it is missing (mode 0700) and checks that its contents can be trusted later:
// it belongs to this user, nobody else may write to it, and no link stands in its place. kIo naming
// the folder and what is wrong with it.
Status make_private_folder(const std::string& path);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// Paths as text. Nothing here throws or fails: in a working directory that was removed a relative
// path has no absolute one, and stays as it is for whoever opens it to say so.
#pragma once

#include <string>

namespace anemone {

// The absolute path without ".", ".." and a slash at the end; links are not followed.
std::string absolute_path(const std::string& path);

// The last part of that, "pocket" of "build/pocket/" and of "." in pocket: how a folder or a file
// is called. Empty for the root.
std::string last_name(const std::string& path);

}  // namespace anemone

// SPDX-License-Identifier: Apache-2.0
#include "base/path.h"

#include <filesystem>
#include <system_error>

namespace anemone {

std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::absolute(path, error);
  if (error) out = path;
  out = out.lexically_normal();
  if (!out.has_filename() && out.has_relative_path()) out = out.parent_path();
  return out.string();
}

std::string last_name(const std::string& path) {
  return std::filesystem::path(absolute_path(path)).filename().string();
}

}  // namespace anemone

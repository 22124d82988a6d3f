// SPDX-License-Identifier: Apache-2.0
#include "base/inner_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& root, const fs::path& path) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// The folder with the files of a snapshot of the hub's cache; nullopt for any other folder. `root`
// and the folders above it have no links.
std::optional<fs::path> blobs_of(const fs::path& root) {
  for (fs::path folder = root; folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path snapshots = folder.parent_path();
    const fs::path repository = snapshots.parent_path();
    if (snapshots.filename() == "snapshots" &&
        repository.filename().string().starts_with("models--"))
      return repository / "blobs";
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> inner_file(const std::string& folder, std::string_view name) {
  const std::string path = (fs::path(folder) / name).string();
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? "." : folder, error);
  if (error) return path;
  const fs::path real = fs::canonical(path, error);
  if (error || is_below(root, real)) return path;
  if (const auto blobs = blobs_of(root); blobs && is_below(*blobs, real)) return path;
  return corrupt("[{}] expected {} to lie in the folder, its link leads out", folder, name);
}

}  // namespace anemone

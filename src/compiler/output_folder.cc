// SPDX-License-Identifier: Apache-2.0
#include "compiler/output_folder.h"

#include <filesystem>
#include <unistd.h>
#include <utility>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"

namespace anemone::compiler {

namespace fs = std::filesystem;

Result<OutputFolder> OutputFolder::create(const std::string& path) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  std::error_code error;
  if (clean.empty()) return invalid_argument("[-o] expected a folder name, got an empty one");
  if (fs::exists(clean, error)) {
    if (!fs::is_directory(clean, error))
      return invalid_argument("[{}] expected a folder or a new name, got a file", path);
    if (!fs::is_empty(clean, error) &&
        !fs::exists(clean + "/" + std::string(artifact::kManifestName), error))
      return invalid_argument(
          "[{}] expected an artifact, an empty folder or a new name, got a folder with other files",
          path);
  }
  std::string working = fmt::format("{}.tmp.{}", clean, ::getpid());
  fs::remove_all(working, error);
  ANEMONE_RETURN_IF_ERROR(make_directories(working));
  return OutputFolder(std::move(clean), std::move(working));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)), working_(std::exchange(other.working_, std::string())) {}

OutputFolder::~OutputFolder() {
  if (working_.empty()) return;
  std::error_code error;
  fs::remove_all(working_, error);
}

Status OutputFolder::commit() {
  std::error_code error;
  const std::string old = working_ + ".old";
  const bool replaces = fs::exists(path_, error);
  if (replaces) {
    fs::rename(path_, old, error);
    if (error) return io_error("[{}] cannot move the old folder away: {}", path_, error.message());
  }
  fs::rename(working_, path_, error);
  if (error) {
    Status status =
        io_error("[{}] cannot rename the new folder into place: {}", path_, error.message());
    if (replaces) fs::rename(old, path_, error);
    return status;
  }
  working_.clear();
  if (replaces) fs::remove_all(old, error);
  return {};
}

}  // namespace anemone::compiler

// SPDX-License-Identifier: Apache-2.0
#include "compiler/output_folder.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>
#include <utility>
#include <vector>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"

namespace anemone::compiler {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::hours kLeftoverAge{1};

// Whether a folder with a manifest.json is ours to replace. Other programs use that name too. Looks
// for two keys and no more, so that a damaged artifact still counts.
bool is_artifact(const std::string& folder) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  const auto text = read_file(folder + "/" + std::string(artifact::kManifestName), kMaxBytes);
  return text.ok() && text->find("\"format_version\"") != std::string::npos &&
         text->find("\"producer\"") != std::string::npos;
}

// Folders "X.tmp.PID" next to X whose process was killed before it could remove them. Only old
// ones: on a shared disk the process may live on another machine.
void remove_leftovers(const fs::path& path) {
  std::error_code error;
  const std::string prefix = path.filename().string() + ".tmp.";
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    const char* const last = name.data() + name.size();
    const auto read = std::from_chars(name.data() + prefix.size(), last, pid);
    if (read.ec != std::errc() || read.ptr != last || pid <= 0) continue;
    const auto age = fs::file_time_type::clock::now() - it->last_write_time(error);
    if (!error && age > kLeftoverAge && ::kill(pid, 0) != 0 && errno == ESRCH)
      found.push_back(it->path());
  }
  for (const fs::path& folder : found) fs::remove_all(folder, error);
}

}  // namespace

Result<OutputFolder> OutputFolder::create(const std::string& path) {
  std::string clean = path;
  while (clean.size() > 1 && clean.ends_with('/')) clean.pop_back();
  std::error_code error;
  if (clean.empty()) return invalid_argument("[-o] expected a folder name, got an empty one");
  if (fs::exists(clean, error)) {
    if (!fs::is_directory(clean, error))
      return invalid_argument("[{}] expected a folder or a new name, got a file", path);
    if (!fs::is_empty(clean, error) && !is_artifact(clean))
      return invalid_argument(
          "[{}] expected an artifact, an empty folder or a new name, got a folder with other files",
          path);
  }
  std::string working = fmt::format("{}.tmp.{}", clean, ::getpid());
  remove_leftovers(clean);
  fs::remove_all(working, error);
  fs::create_directories(working, error);
  if (error) return io_error("[{}] cannot create the folder: {}", path, error.message());
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

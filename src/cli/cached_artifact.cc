// SPDX-License-Identifier: Apache-2.0
#include "cli/cached_artifact.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <ratio>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "artifact/ownership.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "base/progress.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/private_folder.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

// Written instead of a hash; no hash equals it.
constexpr const char* kUnknown = "unknown";

std::string hash_of(std::string_view text) {
  Digest hash;
  hash.update(text);
  return hash.hex();
}

}  // namespace

Result<FolderLock> CachedArtifact::share() const {
  return FolderLock::take(folder_, FolderLock::Mode::kShared);
}

Result<FolderLock> CachedArtifact::lock() const {
  while (true) {
    ANEMONE_RETURN_IF_ERROR(make_private_folder(folder_));
    auto lock = FolderLock::take(folder_);
    // Another process may have cleared the cache meanwhile.
    if (lock.ok() || lock.status().code() != Code::kNotFound) return lock;
  }
}

Status CachedArtifact::check_or_make(const std::string& model,
                                     std::span<const FileIdentity> sources,
                                     const compiler::CompileOptions& options) const {
  const Status found = check_hashes();
  if (found.ok()) return {};
  if (found.code() != Code::kNotFound)
    print_err("anemone: the compiled model in the cache is damaged and is compiled again: {}\n",
              escaped(found.message()));
  return make(model, sources, options);
}

Status CachedArtifact::check_stamp() const {
  ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(artifact()));
  ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(manifest));
  ANEMONE_ASSIGN_OR_RETURN(const Checked checked, read_checked());
  if (checked.files == hash_of(text_of(files)) &&
      std::ranges::all_of(files, &FileIdentity::shows_changes))
    return {};
  return corrupt("[{}] its files changed since they were checked", artifact());
}

// Checks the hash of every file; kNotFound when there is no artifact. Requires the lock.
Status CachedArtifact::check_hashes() const {
  ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(artifact()));
  ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(manifest));
  const bool is_settled = wait_until_settled(files);
  // The manifest has the hashes of the other files; its own hash is in the record.
  const auto checked = read_checked();
  ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hash_of_manifest());
  if (!checked.ok())
    return corrupt("[{}] expected a record with the hash of the manifest, got none", artifact());
  if (checked->manifest != hash)
    return corrupt("[{}] the manifest changed since it was written", artifact());
  ANEMONE_RETURN_IF_ERROR(artifact::check_files(artifact(), manifest, /*check_hashes=*/true));
  record({is_settled ? hash_of(text_of(files)) : kUnknown, hash});
  return {};
}

// Compiles the artifact. Requires the lock.
Status CachedArtifact::make(const std::string& model, std::span<const FileIdentity> sources,
                            compiler::CompileOptions options) const {
  // Deletes the damaged entry without asking its manifest, which may be damaged as well, and what
  // runs that were killed left, in whatever state that is: the folder is private to the cache,
  // and this process has its lock.
  for (const std::string& path : {checked_path(), artifact(), artifact() + ".partial"}) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return io_error("[{}] cannot remove: {}", path, error.message());
  }
  options.cancel = &interrupt_flag();
  ProgressReport bar("compiling " + (options.name.empty() ? last_name(model) : options.name),
                     Progress::Unit::kBytes);
  const auto report = compiler::compile(model, artifact(), options, std::ref(bar));
  bar.clear();
  if (!report.ok()) return report.status();
  // Checks that the files that were compiled are those that the key is a hash of.
  if (text_of(report->sources) != text_of(sources)) {
    ANEMONE_RETURN_IF_ERROR(remove());
    return io_error("[{}] the checkpoint changed while it was being read", model);
  }
  // The hashes of the manifest are those of the files as they were read back.
  ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(report->manifest));
  ANEMONE_ASSIGN_OR_RETURN(const std::string manifest, hash_of_manifest());
  record({wait_until_settled(files) ? hash_of(text_of(files)) : kUnknown, manifest});
  return {};
}

void CachedArtifact::note_use() const {
  ::utimensat(AT_FDCWD, checked_path().c_str(), nullptr, 0);
}

std::optional<double> CachedArtifact::unused_days() const {
  std::error_code error;
  const fs::file_time_type used = fs::last_write_time(checked_path(), error);
  if (error) return std::nullopt;
  using Days = std::chrono::duration<double, std::ratio<86'400>>;
  return Days(fs::file_time_type::clock::now() - used).count();
}

Status CachedArtifact::remove() const {
  std::error_code error;
  // A folder with the name of a key may be something else: the user may have chosen the folder of
  // the cache.
  fs::directory_iterator it(folder_, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name != "artifact" && name != "artifact.partial" &&
        without_temporary_suffix(name) != "checked")
      return invalid_argument("[{}] cannot remove: it contains {}, which anemone did not write",
                              folder_, escaped(name));
  }
  fs::remove_all(folder_, error);
  if (error) return io_error("[{}] cannot remove: {}", folder_, error.message());
  return {};
}

// A file that the manifest does not list could be read as well: a chat template, say.
Result<std::vector<FileIdentity>> CachedArtifact::identities(
    const artifact::Manifest& manifest) const {
  ANEMONE_RETURN_IF_ERROR(artifact::check_all_is_ours(artifact()));
  std::vector<std::string> paths = {artifact() + "/" + std::string(artifact::kManifestName)};
  for (const artifact::FileEntry& file : manifest.files)
    paths.push_back(artifact() + "/" + file.path);
  return FileIdentity::of_all(paths);
}

Result<std::string> CachedArtifact::hash_of_manifest() const {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text,
                           read_file(artifact() + "/" + std::string(artifact::kManifestName)));
  return hash_of(text);
}

Result<CachedArtifact::Checked> CachedArtifact::read_checked() const {
  constexpr std::uint64_t kMaxBytes = 4096;
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(checked_path(), kMaxBytes));
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || !text.ends_with('\n'))
    return corrupt("[{}] expected two lines, got other contents", checked_path());
  Checked out = {text.substr(0, end), text.substr(end + 1)};
  if (!out.manifest.empty()) out.manifest.pop_back();
  return out;
}

// Stores what was checked. If that fails, the next run checks the files again, or compiles again.
void CachedArtifact::record(const Checked& checked) const {
  const Status status = write_file(checked_path(), checked.files + "\n" + checked.manifest + "\n");
  if (!status.ok()) ANEMONE_WARN("{}", status.message());
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include "artifact/ownership.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "artifact/manifest.h"
#include "artifact/manifest_check.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace anemone::artifact {
namespace {

namespace fs = std::filesystem;

Status in_the_way(const std::string& folder, std::string_view what) {
  return invalid_argument(
      "[{}] expected only the files of an artifact, got {}: anemone removes nothing else", folder,
      what);
}

// The paths that a manifest lists, whatever its version is, and also when other parts are wrong.
Result<std::set<std::string>> listed_files(const std::string& folder) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  const std::string name(kManifestName);
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return in_the_way(folder, "no folder");
  if (!fs::is_regular_file(fs::symlink_status(fs::path(folder) / name, error)))
    return in_the_way(folder, "no manifest.json");
  const auto text = read_file((fs::path(folder) / name).string(), kMaxBytes);
  if (!text.ok()) return text.status();
  const auto json = parse_json(*text, name);
  const Json* producer = json.ok() ? json_member(*json, "producer") : nullptr;
  const Json* version = json.ok() ? json_member(*json, "format_version") : nullptr;
  const Json* files = json.ok() ? json_member(*json, "files") : nullptr;
  if (producer == nullptr || !producer->is_string() ||
      !producer->get<std::string>().starts_with("anemone ") || version == nullptr ||
      !version->is_number_integer() || files == nullptr || !files->is_array())
    return in_the_way(folder, "a manifest.json that anemone did not write");
  std::set<std::string> out = {name};
  for (const Json& file : *files) {
    const Json* path = file.is_object() ? json_member(file, "path") : nullptr;
    if (path != nullptr && path->is_string() && is_inner_path(path->get<std::string>()))
      out.insert(path->get<std::string>());
  }
  return out;
}

bool is_ours(const std::string& path, const std::set<std::string>& listed) {
  return listed.contains(path) || listed.contains(std::string(without_temporary_suffix(path)));
}

// An error that names the first entry below `relative` that is not ours, in the order of names, so
// that the same folder gives the same message.
Status check_below(const std::string& folder, const fs::path& relative,
                   const std::set<std::string>& listed) {
  std::error_code error;
  std::vector<fs::path> names;
  const fs::path place = fs::path(folder) / relative;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename());
  if (error) return io_error("[{}] cannot list: {}", place.string(), error.message());
  std::ranges::sort(names);
  for (const fs::path& name : names) {
    const fs::path path = relative / name;
    const std::string text = path.generic_string();
    const fs::file_status status = fs::symlink_status(place / name, error);
    if (fs::is_directory(status)) {
      // A folder is ours if the list has a path below it.
      const auto first = listed.lower_bound(text + "/");
      if (first == listed.end() || !first->starts_with(text + "/")) return in_the_way(folder, text);
      ANEMONE_RETURN_IF_ERROR(check_below(folder, path, listed));
    } else if (!fs::is_regular_file(status) || !is_ours(text, listed)) {
      return in_the_way(folder, text);
    }
  }
  return {};
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  DIR* const stream = ::fdopendir(::dup(folder));
  if (stream == nullptr) return errno_error(path, "list");
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const int reason = errno;
  ::closedir(stream);
  errno = reason;
  if (reason != 0) return errno_error(path, "list");
  std::ranges::sort(names);
  return names;
}

// Whether the error means that another process added or removed a file meanwhile.
bool is_concurrent_change(int error) {
  return error == ENOTEMPTY || error == EEXIST || error == ENOENT;
}

// Removes `name` from the folder that is open as `at`; `relative` is its path as the list has it.
// Each level is opened by itself, never by a path of several parts: any of them could be a link by
// now.
Status remove_entry(int at, const std::string& name, const std::string& relative,
                    const std::set<std::string>& listed) {
  struct stat info {};
  if (::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return is_concurrent_change(errno) ? Status() : errno_error(relative, "stat");
  if (S_ISREG(info.st_mode)) {
    if (is_ours(relative, listed) && ::unlinkat(at, name.c_str(), 0) != 0 &&
        !is_concurrent_change(errno))
      return errno_error(relative, "remove");
    return {};
  }
  if (!S_ISDIR(info.st_mode)) return {};
  const Descriptor folder(
      ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) return errno_error(relative, "open");
  ANEMONE_ASSIGN_OR_RETURN(std::vector<std::string> names, names_in(folder.get(), relative));
  // std::stable_partition, since clang 14 does not compile that of std::ranges with the library of
  // GCC 12.
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& each) { return each != kManifestName; });
  const std::string before = relative.empty() ? "" : relative + "/";
  for (const std::string& each : names)
    ANEMONE_RETURN_IF_ERROR(remove_entry(folder.get(), each, before + each, listed));
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0 && !is_concurrent_change(errno))
    return errno_error(relative, "remove");
  return {};
}

}  // namespace

Status check_all_is_ours(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, listed_files(folder));
  return check_below(folder, "", listed);
}

Status remove_all_that_is_ours(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, listed_files(folder));
  ANEMONE_RETURN_IF_ERROR(check_below(folder, "", listed));
  return remove_entry(AT_FDCWD, folder, "", listed);
}

Status remove_all_that_is_listed(const std::string& folder, const std::string& name,
                                 const std::set<std::string>& listed) {
  ANEMONE_RETURN_IF_ERROR(check_all_is_listed(folder, name, listed));
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open()) return errno_error(folder, "open");
  return remove_entry(opened.get(), name, name, listed);
}

Status check_all_is_listed(const std::string& folder, const std::string& name,
                           const std::set<std::string>& listed) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(fs::path(folder) / name, error);
  if (fs::is_directory(status)) return check_below(folder, name, listed);
  if (!fs::is_regular_file(status) || !is_ours(name, listed)) return in_the_way(folder, name);
  return {};
}

}  // namespace anemone::artifact

// SPDX-License-Identifier: Apache-2.0
#include "artifact/ownership.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "artifact/manifest.h"
#include "artifact/manifest_check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace anemone::artifact {
namespace {

namespace fs = std::filesystem;

Status in_the_way(const std::string& folder, std::string_view what) {
  return invalid_argument(
      "[{}] expected files of an artifact alone, got {}, which is not anemone's to remove", folder,
      what);
}

// Of a manifest of any version, and of one with faults elsewhere: the paths that it lists.
Result<std::set<std::string>> listed_files(const std::string& folder) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  const std::string name(kManifestName);
  std::error_code error;
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

// Of a manifest that a killed process was writing (AtomicFile).
bool is_left_over(const std::string& path) {
  return path.starts_with(std::string(kManifestName) + ".tmp.");
}

// The first by name, so that the same folder gives the same message.
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
      // A folder is ours when a file of ours lies in it.
      const auto first = listed.lower_bound(text + "/");
      if (first == listed.end() || !first->starts_with(text + "/")) return in_the_way(folder, text);
      ANEMONE_RETURN_IF_ERROR(check_below(folder, path, listed));
    } else if (!fs::is_regular_file(status) || !(listed.contains(text) || is_left_over(text))) {
      return in_the_way(folder, text);
    }
  }
  return {};
}

}  // namespace

Status check_all_is_ours(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, listed_files(folder));
  return check_below(folder, "", listed);
}

Status check_all_is_listed(const std::string& folder, const std::string& name,
                           const std::set<std::string>& listed) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(fs::path(folder) / name, error);
  if (fs::is_directory(status)) return check_below(folder, name, listed);
  if (!fs::is_regular_file(status) || !listed.contains(name)) return in_the_way(folder, name);
  return {};
}

}  // namespace anemone::artifact

// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/package_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/inner_file.h"

namespace anemone::mlpackage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelFolder = "@model_path/";
constexpr std::uint64_t kMaxManifestBytes = 16 << 20;

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

}  // namespace

Result<PackageFiles> PackageFiles::locate(const std::string& path) {
  PackageFiles files;
  files.subject_ = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    errno = error ? error.value() : ENOENT;
    return errno_error(path, "open");
  }
  if (!fs::is_directory(status)) {
    const fs::path parent = fs::path(path).parent_path();
    files.folder_ = parent.empty() ? std::string(1, '.') : parent.string();
    files.model_path_ = path;
    return files;
  }
  files.is_package_ = true;
  files.folder_ = path;
  if (!fs::exists(fs::path(path) / "Manifest.json", error)) {
    if (fs::exists(fs::path(path) / "coremldata.bin", error))
      return unsupported("[{}] expected a package (.mlpackage), got a compiled model (.mlmodelc)",
                         path);
    return corrupt("[{}] expected a package with a Manifest.json, got a folder without one", path);
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::string manifest_path, files.inside("Manifest.json"));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(manifest_path, kMaxManifestBytes));
  ANEMONE_ASSIGN_OR_RETURN(files.manifest_, parse_manifest(text, manifest_path));
  // Core ML finds a package invalid when any of its items is missing, used or not.
  for (const ManifestItem& item : files.manifest_.items)
    ANEMONE_RETURN_IF_ERROR(files.inside("Data/" + item.path).status());
  const ManifestItem* root = files.manifest_.root_item();
  ANEMONE_ASSIGN_OR_RETURN(files.model_path_, files.inside("Data/" + root->path));
  if (!fs::is_regular_file(files.model_path_, error))
    return corrupt("[{}] expected the model to be a file", files.model_path_);
  return files;
}

Result<std::string> PackageFiles::weight_path(std::string_view reference) const {
  std::string_view rest = reference;
  if (!rest.starts_with(kModelFolder))
    return corrupt("[{}] expected a blob reference that starts with \"{}\", got \"{}\"",
                   model_path_, kModelFolder, reference);
  rest.remove_prefix(kModelFolder.size());
  if (!is_plain_relative_path(rest))
    return corrupt("[{}] expected a plain relative path in a blob reference, got \"{}\"",
                   model_path_, reference);
  if (!is_package_) return inside(std::string(rest));

  const std::size_t slash = rest.find('/');
  const std::string_view head = rest.substr(0, slash);
  const std::string tail = slash == rest.npos ? std::string() : std::string(rest.substr(slash));
  // The item of that name; else the one whose path ends so; else the only other item.
  std::vector<const ManifestItem*> others;
  for (const ManifestItem& item : manifest_.items)
    if (item.identifier != manifest_.root) others.push_back(&item);
  auto found = std::find_if(others.begin(), others.end(),
                            [&](const ManifestItem* item) { return item->name == head; });
  if (found == others.end())
    found = std::find_if(others.begin(), others.end(),
                         [&](const ManifestItem* item) { return last_part(item->path) == head; });
  if (found == others.end() && others.size() == 1) found = others.begin();
  if (found == others.end())
    return corrupt("[{}] expected the manifest to list the item \"{}\" that a constant lies in",
                   subject_, head);
  return inside("Data/" + (*found)->path + tail);
}

Result<std::string> PackageFiles::inside(const std::string& relative) const {
  ANEMONE_ASSIGN_OR_RETURN(std::string path, inner_file(folder_, relative));
  std::error_code error;
  if (!fs::exists(path, error))
    return corrupt("[{}] expected the package to hold {}: {}", subject_, relative,
                   error ? error.message() : "no such file or folder");
  return path;
}

}  // namespace anemone::mlpackage

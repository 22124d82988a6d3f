// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/model_folders.h"

#include <anemone/status.h>

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "exec/ane_direct/error_map.h"

namespace anemone::exec::ane_direct {
namespace {

namespace fs = std::filesystem;

Status write_files(const fs::path& folder, std::string_view mil,
                   std::span<const WeightFile> weights) {
  ANEMONE_RETURN_IF_ERROR(make_directories((folder / "weights").string()));
  ANEMONE_RETURN_IF_ERROR(write_file((folder / "model.mil").string(), mil));
  for (const WeightFile& file : weights) {
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()),
                                 file.bytes.size());
    ANEMONE_RETURN_IF_ERROR(write_file((folder / file.path).string(), bytes));
  }
  return {};
}

RuntimeError folder_error(std::string text) {
  return runtime_error(std::string(kFolderDomain), 0, std::move(text));
}

}  // namespace

ModelFolders::Use::Use(ModelFolders& folders, std::string path)
    : folders_(folders), path_(std::move(path)) {
  const std::lock_guard lock(folders_.mutex_);
  ++folders_.users_[path_];
}

ModelFolders::Use::~Use() {
  const std::lock_guard lock(folders_.mutex_);
  const auto found = folders_.users_.find(path_);
  if (--found->second > 0) return;
  folders_.users_.erase(found);
  std::error_code ignored;  // what is left lies in the temporary folder of the system
  fs::remove_all(path_, ignored);
}

Outcome<std::shared_ptr<const ModelFolders::Use>> ModelFolders::make(
    const std::string& parent, const std::string& name, std::string_view mil,
    std::span<const WeightFile> weights) {
  // The name comes from a private class, and the folder is removed with all that is in it.
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    return folder_error("expected the name of a folder, got \"" + name + "\"");
  const fs::path folder = fs::path(parent) / name;
  auto out = std::make_shared<const Use>(*this, folder.string());
  if (const Status status = write_files(folder, mil, weights); !status.ok())
    return folder_error(status.message());
  return std::shared_ptr<const Use>(std::move(out));
}

}  // namespace anemone::exec::ane_direct

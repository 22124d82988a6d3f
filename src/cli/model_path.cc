// SPDX-License-Identifier: Apache-2.0
#include "cli/model_path.h"

#include <filesystem>

#include "base/error.h"
#include "base/progress.h"
#include "hub/pull.h"

namespace anemone::cli {

Result<std::string> model_path(const std::string& model) {
  std::error_code error;
  if (std::filesystem::exists(model, error)) return model;
  const auto repo = hub::parse_repo_name(model);
  if (!repo)
    return io_error("[{}] no such file or folder, and not a name of the hub (OWNER/NAME)", model);
  ProgressReport bar("checking", Progress::Unit::kBytes);
  ANEMONE_ASSIGN_OR_RETURN(
      const auto folder,
      hub::find_pulled(*repo, "main",
                       [&](std::uint64_t done, std::uint64_t total) { bar(done, total); }));
  bar.clear();
  if (folder) return *folder;
  return io_error(
      "[{}] no such file or folder, and no downloaded model of the hub (to download it: anemone "
      "pull {})",
      model, model);
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/output_place.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "checkpoint/content.h"
#include "cli/model_cache.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

// The path of the file once all links above it are followed.
Result<fs::path> real_place(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  std::error_code error;
  const fs::path real = fs::canonical(folder.empty() ? "." : folder, error);
  if (error || !fs::is_directory(real, error))
    return io_error("[{}] expected a folder to write to, got none",
                    absolute_path(folder.empty() ? "." : folder.string()));
  if (::access(real.c_str(), W_OK | X_OK) != 0) return errno_error(real.string(), "write to");
  return real / fs::path(file).filename();
}

// Whether the file at `place` would lie among those of a model, or is one of them.
bool is_of_model(const fs::path& place, const std::string& model) {
  std::error_code error;
  const fs::path root = fs::canonical(model, error);
  if (error) return false;
  if (fs::is_directory(root, error) &&
      std::mismatch(root.begin(), root.end(), place.begin(), place.end()).first == root.end())
    return true;
  if (!fs::exists(place, error)) return false;
  if (fs::equivalent(root, place, error)) return true;
  // Those that lie elsewhere: the blobs of the hub's cache, the other parts of a GGUF file.
  const auto files = checkpoint::files_of(model);
  return files.ok() && std::ranges::any_of(*files, [&](const std::string& file) {
           return fs::equivalent(file, place, error);
         });
}

}  // namespace

Status check_output_files(std::span<const std::string> files,
                          const std::vector<std::string>& models) {
  std::set<fs::path> places;
  for (const std::string& file : files) {
    if (file.empty()) continue;
    ANEMONE_RETURN_IF_ERROR(check_can_be_replaced(file));
    ANEMONE_ASSIGN_OR_RETURN(const fs::path place, real_place(file));
    for (const std::string& model : models)
      if (is_of_model(place, model))
        return invalid_argument("[{}] expected a file outside of the model {}", file, model);
    if (const auto cache = cache_folder(); cache.ok() && is_of_model(place, *cache))
      return invalid_argument("[{}] expected a file outside of the cache of compiled models, {}",
                              file, *cache);
    if (!places.insert(place).second)
      return invalid_argument("[{}] two flags name this file as their output", file);
  }
  return {};
}

Status check_output_file(const std::string& file, const std::string& model) {
  return check_output_files(std::span(&file, 1), {model});
}

}  // namespace anemone::cli

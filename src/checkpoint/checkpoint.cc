// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/safetensors.h"

namespace anemone::checkpoint {

Result<std::string> fingerprint(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> lines;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const auto bytes = it->file_size(ignored);
    const auto time = it->last_write_time(ignored).time_since_epoch().count();
    lines.push_back(fmt::format("{} {} {}\n", it->path().filename().string(), bytes, time));
  }
  if (error) return io_error("[{}] cannot list: {}", path, error.message());
  std::ranges::sort(lines);
  Sha256 hash;
  ANEMONE_ASSIGN_OR_RETURN(const std::string config, read_file(path + "/config.json"));
  hash.update(config);
  for (const std::string& line : lines) hash.update(line);
  return hash.hex();
}

Result<Checkpoint> open_checkpoint(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error)) return io_error("[{}] no such file or folder", path);
  if (!fs::is_directory(path, error))
    return unsupported("[{}] expected a checkpoint folder with config.json and *.safetensors",
                       path);
  const std::string config_path = path + "/config.json";
  if (!fs::exists(config_path, error))
    return not_found("[{}] expected a config.json in the checkpoint folder", path);
  Checkpoint checkpoint;
  checkpoint.path = path;
  ANEMONE_ASSIGN_OR_RETURN(checkpoint.config, HfConfig::read(config_path));
  const std::string generation_path = path + "/generation_config.json";
  if (fs::exists(generation_path, error)) {
    ANEMONE_ASSIGN_OR_RETURN(checkpoint.generation, read_json_file(generation_path));
    if (!checkpoint.generation.is_object())
      return parse_error("[{}] expected a JSON object, got {}", generation_path,
                         checkpoint.generation.type_name());
  }
  ANEMONE_ASSIGN_OR_RETURN(checkpoint.weights, open_safetensors_folder(path));
  return checkpoint;
}

Result<std::shared_ptr<const WeightSource>> open_tensors(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error) || !gguf::GgufFile::is_gguf(path))
    return open_safetensors(path);
  ANEMONE_ASSIGN_OR_RETURN(auto file, gguf::GgufFile::open(path));
  return gguf::make_plain_source(std::move(file));
}

}  // namespace anemone::checkpoint

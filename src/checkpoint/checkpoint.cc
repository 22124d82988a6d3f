// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace anemone::checkpoint {

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

}  // namespace anemone::checkpoint

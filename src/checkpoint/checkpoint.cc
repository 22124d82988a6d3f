// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "checkpoint/content.h"
#include "checkpoint/file_kind.h"
#include "checkpoint/fp8.h"
#include "checkpoint/gguf/gguf_checkpoint.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/language_model.h"
#include "checkpoint/mxfp4.h"
#include "checkpoint/nvfp4.h"
#include "checkpoint/onnx/onnx_checkpoint.h"
#include "checkpoint/planned_weights.h"
#include "checkpoint/safetensors.h"

namespace anemone::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTextBytes = 64 << 20;

// Those that there are.
Result<std::vector<std::pair<std::string_view, std::string>>> text_paths(
    const std::string& folder) {
  std::vector<std::pair<std::string_view, std::string>> out;
  for (const std::string_view name : kTextFiles) {
    ANEMONE_ASSIGN_OR_RETURN(std::string path, inner_file(folder, name));
    std::error_code error;
    if (fs::exists(path, error)) out.emplace_back(name, std::move(path));
  }
  return out;
}

// Checks that the text files can be read later on, so that a plan reports one that is too large.
Status check_text_files(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, text_paths(folder));
  for (const auto& [name, path] : paths) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (!error && bytes > kMaxTextBytes)
      return corrupt("[{}] expected at most {} bytes, got {}", path, kMaxTextBytes, bytes);
  }
  return {};
}

Result<std::vector<TextFile>> read_text_files(const std::string& folder) {
  std::vector<TextFile> files;
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, text_paths(folder));
  for (const auto& [name, path] : paths) {
    ANEMONE_ASSIGN_OR_RETURN(std::string text, read_file(path, kMaxTextBytes));
    files.push_back({std::string(name), std::move(text)});
  }
  return files;
}

bool has_weight_files(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    for (const std::string_view tail :
         {".safetensors", ".safetensors.index.json", ".bin", ".pt", ".pth", ".onnx"})
      if (name.ends_with(tail)) return true;
  }
  return false;
}

Result<Checkpoint> open(const std::string& path, bool needs_weights) {
  std::error_code error;
  if (!fs::exists(path, error)) return io_error("[{}] no such file or folder", path);
  if (!fs::is_directory(path, error)) {
    if (gguf::GgufFile::is_gguf(path)) return gguf::open_gguf_checkpoint(path);
    return not_a_model(path);
  }
  ANEMONE_RETURN_IF_ERROR(check_text_files(path));
  ANEMONE_ASSIGN_OR_RETURN(const std::string config_path, inner_file(path, "config.json"));
  if (!fs::exists(config_path, error)) {
    if (!fs::exists(path + "/genai_config.json", error))
      return not_found(
          "[{}] expected a config.json, or a genai_config.json (ONNX), in the checkpoint folder",
          path);
    ANEMONE_ASSIGN_OR_RETURN(Checkpoint bundle, onnx::open_onnx_bundle(path));
    bundle.text_files = [path] { return read_text_files(path); };
    return bundle;
  }
  Checkpoint checkpoint;
  checkpoint.path = path;
  ANEMONE_ASSIGN_OR_RETURN(checkpoint.config, HfConfig::read(config_path));
  ANEMONE_ASSIGN_OR_RETURN(const std::string generation_path,
                           inner_file(path, "generation_config.json"));
  if (fs::exists(generation_path, error)) {
    ANEMONE_ASSIGN_OR_RETURN(checkpoint.generation, read_json_file(generation_path));
    if (!checkpoint.generation->is_object())
      return parse_error("[{}] expected a JSON object, got {}", generation_path,
                         checkpoint.generation->type_name());
  }
  if (!checkpoint.config.quantization()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string modelopt_path, inner_file(path, kModelOptConfig));
    if (fs::exists(modelopt_path, error)) {
      ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(modelopt_path));
      ANEMONE_ASSIGN_OR_RETURN(checkpoint.config,
                               with_modelopt_config(checkpoint.config, json, modelopt_path));
    }
  }
  checkpoint.has_weights = needs_weights || has_weight_files(path);
  if (checkpoint.has_weights) {
    ANEMONE_ASSIGN_OR_RETURN(checkpoint.weights, open_safetensors_folder(path));
    if (checkpoint.config.quantization() == "mxfp4") {
      ANEMONE_ASSIGN_OR_RETURN(checkpoint.weights, read_mxfp4(std::move(checkpoint.weights)));
    } else if (checkpoint.config.quantization() == "fp8") {
      ANEMONE_ASSIGN_OR_RETURN(checkpoint.weights,
                               read_fp8(std::move(checkpoint.weights), checkpoint.config));
    } else if (checkpoint.config.quantization() == "nvfp4") {
      ANEMONE_ASSIGN_OR_RETURN(checkpoint.weights, read_nvfp4(std::move(checkpoint.weights)));
    }
  } else {
    if (checkpoint.config.quantization() == "nvfp4")
      checkpoint.notes.push_back(
          "which matrices are NVFP4 is not known without the weights: planned as floats");
    checkpoint.weights = planned_weights(path, checkpoint.config.quantization() == "mxfp4");
  }
  checkpoint.text_files = [path] { return read_text_files(path); };
  return language_model(std::move(checkpoint));
}

}  // namespace

Result<Checkpoint> open_checkpoint(const std::string& path) {
  return open(path, true);
}

Result<Checkpoint> open_for_planning(const std::string& path) {
  return open(path, false);
}

Result<std::shared_ptr<const WeightSource>> open_tensors(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) || !gguf::GgufFile::is_gguf(path))
    return open_safetensors(path);
  ANEMONE_ASSIGN_OR_RETURN(auto file, gguf::GgufFile::open(path));
  ANEMONE_RETURN_IF_ERROR(file->check_has_weights());
  return gguf::make_plain_source(std::move(file));
}

}  // namespace anemone::checkpoint

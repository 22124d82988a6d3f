// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "checkpoint/safetensors.h"
#include "cli/inspect.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

struct Opened {
  std::shared_ptr<const checkpoint::WeightSource> source;
  std::map<std::string, std::string> metadata;
};

Result<Opened> open(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    ANEMONE_ASSIGN_OR_RETURN(auto source, checkpoint::open_safetensors_folder(path));
    return Opened{std::move(source), {}};
  }
  ANEMONE_ASSIGN_OR_RETURN(auto file, checkpoint::SafetensorsFile::open(path));
  return Opened{file, file->metadata()};
}

}  // namespace

Result<Report> inspect_tensors(const InspectOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const Opened opened, open(options.path));
  Report report;
  Json tensors = Json::array();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t bytes = 0;
  for (const checkpoint::WeightRef* tensor : opened.source->all()) {
    bytes += tensor->bytes.size();
    rows.push_back({escaped(tensor->name), std::string(dtype_name(tensor->dtype)),
                    to_string(tensor->shape), format_bytes(tensor->bytes.size())});
    tensors.push_back({{"name", tensor->name},
                       {"dtype", dtype_name(tensor->dtype)},
                       {"shape", tensor->shape},
                       {"bytes", tensor->bytes.size()}});
  }
  report.text = fmt::format("{}: safetensors, {} tensor{}, {}\n", escaped(options.path),
                            rows.size(), rows.size() == 1 ? "" : "s", format_bytes(bytes));
  for (const auto& [key, value] : opened.metadata)
    report.text += fmt::format("  {}: {}\n", escaped(key), escaped(value));
  report.text += table(rows, "  ");
  report.json = {{"file", options.path},
                 {"kind", "safetensors"},
                 {"bytes", bytes},
                 {"metadata", opened.metadata},
                 {"tensors", std::move(tensors)}};
  return report;
}

}  // namespace anemone::cli

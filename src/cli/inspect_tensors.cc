// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "base/progress.h"
#include "checkpoint/safetensors.h"
#include "cli/inspect.h"
#include "cli/output.h"

namespace anemone::cli {
Result<Report> inspect_tensors(const InspectOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto source, checkpoint::open_safetensors(options.path));
  std::map<std::string, std::string> metadata;
  if (const auto* file = dynamic_cast<const checkpoint::SafetensorsFile*>(source.get()))
    metadata = file->metadata();
  Report report;
  Json tensors = Json::array();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t bytes = 0;
  for (const checkpoint::WeightRef* tensor : source->all()) {
    bytes += tensor->bytes.size();
    rows.push_back({escaped(tensor->name), std::string(tensor->storage()), to_string(tensor->shape),
                    format_bytes(tensor->bytes.size())});
    tensors.push_back({{"name", tensor->name},
                       {"dtype", tensor->storage()},
                       {"shape", tensor->shape},
                       {"bytes", tensor->bytes.size()}});
  }
  report.text = fmt::format("{}: safetensors, {} tensor{}, {}\n", escaped(options.path),
                            rows.size(), rows.size() == 1 ? "" : "s", format_bytes(bytes));
  for (const auto& [key, value] : metadata)
    report.text += fmt::format("  {}: {}\n", escaped(key), escaped(value));
  report.text += table(rows, "  ");
  report.json = {{"file", options.path},
                 {"kind", "safetensors"},
                 {"bytes", bytes},
                 {"metadata", metadata},
                 {"tensors", std::move(tensors)}};
  return report;
}

}  // namespace anemone::cli

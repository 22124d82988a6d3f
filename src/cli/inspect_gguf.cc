// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "checkpoint/gguf/gguf_file.h"
#include "cli/inspect.h"
#include "cli/output.h"

namespace anemone::cli {
Result<Report> inspect_gguf(const InspectOptions& options) {
  namespace gguf = checkpoint::gguf;
  ANEMONE_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::open(options.path));
  Json tensors = Json::array();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    bytes += tensor.bytes.size();
    rows.push_back({escaped(name), std::string(tensor.type->name), to_string(tensor.shape),
                    format_bytes(tensor.bytes.size())});
    tensors.push_back({{"name", name},
                       {"type", tensor.type->name},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes.size()}});
  }
  Report report;
  report.text = fmt::format("{}: GGUF, {} tensor{}, {}\n", escaped(options.path), rows.size(),
                            rows.size() == 1 ? "" : "s", format_bytes(bytes));
  Json metadata = Json::object();
  // Appends pairs without a search: the keys of a file differ, and searching for each among those
  // before it would take quadratic time.
  Json::object_t::Container& pairs = metadata.get_ref<Json::object_t&>();
  std::vector<std::vector<std::string>> values;
  for (const auto& [key, value] : file->metadata().values()) {
    const std::string text = gguf::Metadata::describe(value);
    values.push_back({escaped(key), escaped(text)});
    pairs.emplace_back(key, text);
  }
  report.text += table(values, "  ") + table(rows, "  ");
  report.json = {{"file", options.path},
                 {"kind", "gguf"},
                 {"parts", file->files()},
                 {"bytes", bytes},
                 {"metadata", std::move(metadata)},
                 {"tensors", std::move(tensors)}};
  add_summary(report, summarize_model(options.path));
  ANEMONE_RETURN_IF_ERROR(check_mapped_files());
  return report;
}

}  // namespace anemone::cli

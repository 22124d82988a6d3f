// SPDX-License-Identifier: Apache-2.0
// What a checkpoint is as a model: what a person asks before compiling it.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf/gguf_file.h"
#include "cli/inspect.h"
#include "cli/output.h"
#include "compiler/compiler.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

// "1.24 billion", "494 million".
std::string count_text(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.2f} billion", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.{}f} million", value / 1e6, value < 1e7 ? 2 : 0);
  return fmt::format("{}", count);
}

struct Weights {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> by_storage;  // parameters
};

Weights weights_of(const checkpoint::Checkpoint& model) {
  Weights out;
  for (const checkpoint::WeightRef* weight : model.weights->all()) {
    const auto count = static_cast<std::uint64_t>(element_count(weight->shape));
    out.parameters += count;
    out.bytes += weight->bytes.size();
    out.by_storage[std::string(weight->storage())] += count;
  }
  return out;
}

// The form of most weights, and of the others where they are more than a hundredth.
std::string storage_text(const Weights& weights, const checkpoint::HfConfig& config) {
  std::vector<std::pair<std::uint64_t, std::string>> forms;
  for (const auto& [name, count] : weights.by_storage) forms.emplace_back(count, name);
  std::ranges::sort(forms, std::greater());
  std::string out;
  for (const auto& [count, name] : forms) {
    if (!out.empty() && count * 100 < weights.parameters) continue;
    out +=
        fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", name,
                    100.0 * static_cast<double>(count) / static_cast<double>(weights.parameters));
  }
  if (const auto method = config.quantization(); method && *method != "none")
    out += fmt::format(" ({})", escaped(*method));
  return out;
}

std::optional<std::string> text_member(const Json& json, std::string_view key) {
  const Json* value = json_member(json, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

// "license: apache-2.0" in the head of README.md, as the hub has it; else whether there is a file.
std::string licence_of_folder(const fs::path& folder) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  if (const auto text = read_file((folder / "README.md").string(), kMaxBytes);
      text.ok() && text->starts_with("---")) {
    const std::string_view head = std::string_view(*text).substr(0, text->find("\n---", 3));
    constexpr std::string_view kKey = "\nlicense:";
    if (const std::size_t at = head.find(kKey); at != head.npos) {
      std::string_view value = head.substr(at + kKey.size());
      value = value.substr(0, value.find('\n'));
      const std::size_t begin = value.find_first_not_of(" \"'");
      if (begin != value.npos)
        return std::string(value.substr(begin, value.find_last_not_of(" \"'\r") + 1 - begin));
    }
  }
  std::error_code error;
  for (const char* name : {"LICENSE", "LICENSE.txt", "LICENSE.md"})
    if (fs::exists(folder / name, error)) return fmt::format("see {}", name);
  return "not stated";
}

std::string licence_of(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return licence_of_folder(path);
  const auto file = checkpoint::gguf::GgufFile::open(path);
  if (file.ok())
    if (const auto text = (*file)->metadata().text("general.license"); text.ok() && *text)
      return std::string(**text);
  return licence_of_folder(fs::path(path).parent_path());
}

bool has_tokenizer(const checkpoint::Checkpoint& model) {
  const auto files = model.text_files();
  // Commands that use the files say what is wrong with them.
  return !files.ok() || std::ranges::any_of(*files, [](const checkpoint::TextFile& file) {
    return file.name == "tokenizer.json";
  });
}

bool has_template(const checkpoint::Checkpoint& model) {
  const auto files = model.text_files();
  if (!files.ok()) return false;
  return std::ranges::any_of(*files, [](const checkpoint::TextFile& file) {
    if (file.name == "chat_template.jinja") return true;
    if (file.name != "tokenizer_config.json") return false;
    const auto json = parse_json(file.content, file.name);
    return json.ok() && json_member(*json, "chat_template") != nullptr;
  });
}

std::string layers_text(const checkpoint::HfConfig& config) {
  const auto layers = config.optional_integer("num_hidden_layers");
  const auto hidden = config.optional_integer("hidden_size");
  std::string out = escaped(config.model_type());
  if (layers.ok() && *layers) out += fmt::format(", {} layers", **layers);
  if (hidden.ok() && *hidden) out += fmt::format(" of {}", **hidden);
  return out;
}

// "yes, 3 packages, 412 MB (--quant auto)", or "no: " and the reason.
std::string compiles_text(const std::string& path, Json& json) {
  compiler::CompileOptions options;
  options.form = compiler::default_form(compiler::Processor::kAne);
  options.recipe = *compiler::parse_recipe("auto", compiler::Processor::kAne);
  options.dry_run = true;
  const auto report = compiler::compile(path, "", options);
  json["compiles"] = report.ok();
  if (!report.ok()) {
    json["reason"] = report.status().message();
    return "no: " + escaped(report.status().message());
  }
  json["packages"] = report->packages.size();
  json["compiled_bytes"] = report->total_bytes;
  return fmt::format("yes, {} package{}, {}", report->packages.size(),
                     report->packages.size() == 1 ? "" : "s", format_bytes(report->total_bytes));
}

}  // namespace

Result<Report> summarize_model(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const checkpoint::Checkpoint model, checkpoint::open_for_planning(path));
  Report report;
  report.json = Json::object();
  const Json& config = model.config.json();
  std::vector<std::vector<std::string>> rows = {{"architecture", layers_text(model.config)}};
  report.json["architecture"] = model.config.model_type();
  if (model.has_weights) {
    const Weights weights = weights_of(model);
    rows.push_back({"parameters", count_text(weights.parameters)});
    rows.push_back({"weights", fmt::format("{}, {}", format_bytes(weights.bytes),
                                           storage_text(weights, model.config))});
    report.json["parameters"] = weights.parameters;
    report.json["weight_bytes"] = weights.bytes;
  } else {
    rows.push_back({"weights", "none: a configuration alone"});
  }
  if (const auto context = model.config.optional_integer("max_position_embeddings");
      context.ok() && *context) {
    rows.push_back({"context", fmt::format("{} tokens at most", **context)});
    report.json["context"] = **context;
  }
  const bool has_text = has_tokenizer(model);
  rows.push_back({"tokenizer", has_text ? "yes" : "none: it runs on token ids alone"});
  report.json["tokenizer"] = has_text;
  const bool is_chat = has_template(model);
  rows.push_back({"chat template", is_chat ? "yes" : "no"});
  report.json["chat_template"] = is_chat;
  const std::string licence = licence_of(path);
  rows.push_back({"licence", escaped(licence)});
  report.json["licence"] = licence;
  if (const auto kind = text_member(config, "transformers_version"))
    report.json["transformers_version"] = *kind;
  rows.push_back({"compiles", compiles_text(path, report.json)});
  report.text = table(rows, "  ");
  return report;
}

Result<Report> inspect_checkpoint(const InspectOptions& options) {
  const auto summary = summarize_model(options.path);
  std::error_code error;
  const bool is_bundle = fs::exists(fs::path(options.path) / "genai_config.json", error);
  const auto has = [&](const char* name) {
    return fs::exists(fs::path(options.path) / name, error);
  };
  if (is_bundle || !(has("model.safetensors") || has("model.safetensors.index.json"))) {
    if (!summary.ok()) return summary.status();
    Report report = *summary;
    report.text =
        fmt::format("{}: {}\n", escaped(options.path), is_bundle ? "ONNX bundle" : "checkpoint") +
        report.text;
    report.json = {{"file", options.path},
                   {"kind", is_bundle ? "onnx" : "config"},
                   {"model", std::move(report.json)}};
    return report;
  }
  ANEMONE_ASSIGN_OR_RETURN(Report report, inspect_tensors(options));
  add_summary(report, summary);
  return report;
}

void add_summary(Report& report, const Result<Report>& summary) {
  const std::size_t first = report.text.find('\n') + 1;
  if (summary.ok()) {
    report.text.insert(first, summary->text);
    report.json["model"] = summary->json;
  } else {
    report.text.insert(first, "  compiles  no: " + escaped(summary.status().message()) + "\n");
    report.json["model"] = {{"compiles", false}, {"reason", summary.status().message()}};
  }
}

}  // namespace anemone::cli

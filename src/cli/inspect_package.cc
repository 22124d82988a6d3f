// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "cli/feature_text.h"
#include "cli/inspect.h"
#include "cli/output.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "mlpackage/compiled_reader.h"
#include "ops/registry.h"

namespace anemone::cli {
namespace {

using mlpackage::FeatureDescription;
using OperationCounts = std::map<std::string, std::int64_t>;

void count_operations(const ir::Block& block, OperationCounts& counts) {
  for (const ir::Op* op : block.ops) {
    ++counts[op->type];
    for (const ir::Block* inner : op->blocks) count_operations(*inner, counts);
  }
}

// Images and other features that are no arrays have the name of their kind.
std::string dtype_text(const FeatureDescription& feature) {
  return feature.kind == FeatureDescription::Kind::kImage
             ? std::string(mlpackage::kind_name(feature.kind))
             : type_text(feature);
}

Json feature_json(const FeatureDescription& feature) {
  Json out = {{"name", feature.name},
              {"kind", mlpackage::kind_name(feature.kind)},
              {"dtype", dtype_text(feature)},
              {"shape", feature.shape}};
  if (feature.kind == FeatureDescription::Kind::kImage) {
    out["color"] = color_name(feature.color_space);
    out["tensor_shape"] = tensor_shape(feature, feature.shape);
  }
  if (!feature.flexibility.ranges.empty()) {
    out["ranges"] = Json::array();
    for (const auto& range : feature.flexibility.ranges)
      out["ranges"].push_back(Json::array({range.lower, range.upper}));
  }
  if (!feature.flexibility.enumerated.empty())
    out["enumerated_shapes"] = feature.flexibility.enumerated;
  if (feature.is_optional) out["optional"] = true;
  return out;
}

// The shape in the description. For an output that has none there, the shape in the program, with
// "?" for open dimensions.
std::string shape_or_type_text(const FeatureDescription& feature, const ir::Function* function) {
  const std::string text = shape_text(feature);
  if (!text.empty() || feature.kind != FeatureDescription::Kind::kMultiArray || function == nullptr)
    return text;
  for (const ir::Value* output : function->block->outputs)
    if (output->name == feature.name && !output->type.shape.empty())
      return to_string(output->type.shape);
  return text;
}

class PackageReport {
 public:
  PackageReport(const mlpackage::Model& model, const InspectOptions& options, Status lawful)
      : model_(model), options_(options), lawful_(std::move(lawful)) {}

  Report make() {
    std::uint64_t weight_bytes = 0;
    for (const auto& file : model_.weight_files) weight_bytes += file->bytes().size();
    report_.json = {{"file", options_.path},
                    {"kind", is_compiled() ? "mlmodelc" : "mlpackage"},
                    {"specification_version", model_.specification_version},
                    {"default_function", model_.default_function},
                    {"weight_bytes", weight_bytes},
                    {"lawful", lawful_.ok()}};
    if (!lawful_.ok()) report_.json["violation"] = lawful_.message();
    const std::string what = is_compiled() ? "compiled Core ML model"
                                           : fmt::format("Core ML package, specification {}",
                                                         model_.specification_version);
    report_.text = fmt::format("{}: {}, {} function{}, {} of weights\n", escaped(options_.path),
                               what, model_.functions.size(),
                               model_.functions.size() == 1 ? "" : "s", format_bytes(weight_bytes));
    metadata();
    if (!lawful_.ok()) report_.text += "  unlawful: " + escaped(lawful_.message()) + "\n";
    report_.json["functions"] = Json::array();
    for (const auto& described : model_.functions) function(described);
    if (const auto* described = model_.function(model_.default_function)) {
      const std::string example = example_command(options_.path, model_, *described);
      report_.text += "\ntry it:\n  " + escaped(example) + "\n";
      report_.json["example"] = example;
    }
    return std::move(report_);
  }

 private:
  // The specification version of a compiled model is not known.
  bool is_compiled() const { return model_.specification_version == 0; }

  void metadata() {
    const mlpackage::Metadata& data = model_.metadata;
    Json json = Json::object();
    for (const auto& [key, value] : {std::pair("description", &data.short_description),
                                     {"version", &data.version},
                                     {"author", &data.author},
                                     {"license", &data.license}})
      if (!value->empty()) json[key] = *value;
    for (const auto& [key, value] : data.user_defined) json[key] = value;
    std::vector<std::vector<std::string>> rows;
    for (const auto& [key, value] : json.items())
      rows.push_back({escaped(key), escaped(value.get<std::string>())});
    report_.text += table(rows, "  ");
    report_.json["metadata"] = std::move(json);
  }

  void function(const mlpackage::FunctionInterface& described) {
    const ir::Function* function = model_.program.function(described.name);
    OperationCounts counts;
    if (function != nullptr) count_operations(*function->block, counts);
    std::int64_t total = 0;
    for (const auto& [type, count] : counts)
      if (type != "const") total += count;
    const std::string_view target = function == nullptr ? "?" : ir::opset_target(function->opset);
    report_.text +=
        fmt::format("\nfunction {}{} ({}): {} operations, {} constants\n", escaped(described.name),
                    described.name == model_.default_function ? ", default" : "", target, total,
                    counts["const"]);
    Json json = {{"name", described.name}, {"target", target}, {"operations", Json::object()}};
    std::vector<std::vector<std::string>> rows;
    const auto features = [&](const char* role, const std::vector<FeatureDescription>& list) {
      Json& array = json[std::string(role) + "s"] = Json::array();
      for (const FeatureDescription& feature : list) {
        const std::string shape = shape_or_type_text(feature, function);
        rows.push_back({role, escaped(feature.name), type_text(feature),
                        shape + (feature.is_optional ? " optional" : "")});
        array.push_back(feature_json(feature));
      }
    };
    features("input", described.inputs);
    features("state", described.states);
    features("output", described.outputs);
    report_.text += table(rows, "  ");
    if (function != nullptr) classes(described, *function, json);
    operations(counts, json["operations"]);
    report_.json["functions"].push_back(std::move(json));
  }

  // Adds the classes of a classifier: the first of them to the text, all of them to the JSON.
  void classes(const mlpackage::FunctionInterface& described, const ir::Function& function,
               Json& json) {
    constexpr std::size_t kShown = 8;
    const std::vector<std::string> labels =
        class_labels(function, described.predicted_probabilities_name);
    if (labels.empty()) return;
    json["classes"] = labels;
    std::string text = fmt::format("  {} classes", labels.size());
    for (std::size_t i = 0; i < std::min(labels.size(), kShown); ++i)
      text += (i == 0 ? ": " : ", ") + escaped(labels[i]);
    report_.text += lines_for_terminal(text + (labels.size() > kShown ? ", ...\n" : "\n"));
  }

  void operations(const OperationCounts& counts, Json& json) {
    constexpr std::size_t kMostColumns = 96;
    const std::size_t width = std::min(report_columns().value_or(kMostColumns), kMostColumns);
    std::string line = "  operations";
    for (const auto& [type, count] : counts) {
      json[type] = count;
      if (type == "const") continue;
      std::string word = fmt::format(" {} {}", count, escaped(type));
      if (line.size() + word.size() + 1 > width) {  // a comma goes with it
        report_.text += line + "\n";
        line = "            ";
      }
      line += word + ",";
    }
    if (line.back() == ',') line.pop_back();
    report_.text += line + "\n";
  }

  const mlpackage::Model& model_;
  const InspectOptions& options_;
  const Status lawful_;
  Report report_;
};

// Weights as the package refers to them.
std::string mil_text(const mlpackage::Model& model) {
  ir::PrintOptions options;
  options.blob = [&](const ir::Literal& literal) -> std::optional<ir::BlobReference> {
    const auto it = model.blob_offsets.find(literal.data().get());
    if (it == model.blob_offsets.end()) return std::nullopt;
    return ir::BlobReference{.offset = it->second};
  };
  return ir::print(model.program, options);
}

}  // namespace

Result<Report> inspect_package(const InspectOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model model, mlpackage::read_model(options.path));
  const Status lawful = ir::verify(model.program, ops::op_registry());
  if (options.is_strict && !lawful.ok()) return lawful.with(options.path);
  Report report = PackageReport(model, options, lawful).make();
  if (options.as_mil) {
    report.text = mil_text(model);
    report.json["mil"] = report.text;
  }
  ANEMONE_RETURN_IF_ERROR(check_mapped_files());
  return report;
}

}  // namespace anemone::cli

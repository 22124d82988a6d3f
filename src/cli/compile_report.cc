// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "ane/form.h"
#include "base/escape.h"
#include "base/progress.h"
#include "cli/check_report.h"
#include "cli/inspect.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3f} %", share * 100);
}

Json functions_json(const artifact::Manifest& manifest) {
  Json functions = Json::array();
  for (const artifact::Function& function : manifest.functions)
    functions.push_back({{"name", function.name},
                         {"tokens", function.tokens},
                         {"flexible", function.is_flexible},
                         {"context", manifest.context_of(function)}});
  return functions;
}

// What became of a matrix that the checkpoint has quantized: "exact", "scales rounded" or "again"
// (quantized again); empty for others.
std::string_view kept_as(const compiler::WeightReport& weight) {
  if (!weight.is_source_quantized) return "";
  if (!weight.is_passthrough) return "again";
  return weight.is_exact ? "exact" : "scales rounded";
}

// "12 kept exactly, 3 kept with scales rounded to fp16, 2 quantized again (Q4_K), with a relative
// error of at most 4.1 %"; empty if the checkpoint has no quantized matrix.
std::string kept_text(const std::vector<compiler::WeightReport>& weights) {
  int exact = 0;
  int rounded = 0;
  int again = 0;
  std::optional<double> largest;  // error of those that were measured
  std::set<std::string> sources;
  for (const compiler::WeightReport& weight : weights) {
    const std::string_view kept = kept_as(weight);
    exact += kept == "exact" ? 1 : 0;
    rounded += kept == "scales rounded" ? 1 : 0;
    if (kept != "again") continue;
    ++again;
    sources.insert(weight.source);
    if (weight.error) largest = std::max(largest.value_or(0), weight.error->relative());
  }
  std::string text;
  const auto add = [&](int count, const std::string& what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(exact, "kept exactly");
  add(rounded, "kept with scales rounded to fp16");
  add(again, fmt::format("quantized again ({})", fmt::join(sources, ", ")));
  if (largest) text += fmt::format(", with a relative error of at most {:.1f} %", *largest * 100);
  return text;
}

Json experts_json(const compiler::ExpertsReport& experts) {
  return {{"form", experts.form == artifact::ExpertsForm::kPacks ? "packs" : "dense"},
          {"layers", experts.layers},
          {"count", experts.count},
          {"chosen", experts.active},
          {"packages", experts.packages},
          {"functions", experts.functions},
          {"bytes_per_token", experts.bytes_per_token},
          {"runs_per_layer", experts.runs},
          {"host_crossings_per_layer", experts.host_crossings}};
}

std::string experts_text(const compiler::ExpertsReport& experts) {
  const std::string of_layers =
      fmt::format("  experts: {} layers with {} each, {} of them active per token, ",
                  experts.layers, experts.count, experts.active);
  const std::string bytes = format_bytes(experts.bytes_per_token);
  if (experts.form == artifact::ExpertsForm::kDense)
    return of_layers +
           fmt::format("all in the graph: the chip reads {} of them per token\n", bytes);
  return of_layers +
         fmt::format(
             "in {} packages with {} functions: each token reads {} of them, in {} runs and "
             "{} host crossings per layer\n",
             experts.packages, experts.functions, bytes, experts.runs, experts.host_crossings);
}

Json form_json(const artifact::Form& form) {
  Json json = {{"form", ane::name_of(form)}};
  for (const artifact::FormField& field : artifact::form_fields())
    json[std::string(field.name)] = {{"value", field.value_of(form)},
                                     {"reason", ane::reason(field.name, field.value_of(form))}};
  return json;
}

// The name of the form; if `is_detailed`, also a line for each field with the reason for its value.
std::string form_text(const artifact::Form& form, bool is_detailed) {
  const std::string_view name = ane::name_of(form);
  const std::string text = fmt::format("  form: {}", name.empty() ? "custom" : name);
  if (!is_detailed) return text + " (--report shows each choice and why)\n";
  Rows rows;
  for (const artifact::FormField& field : artifact::form_fields())
    rows.push_back({std::string(field.name), std::string(field.value_of(form)),
                    std::string(ane::reason(field.name, field.value_of(form)))});
  return text + "\n" + table(rows, "    ");
}

Json weight_json(const compiler::WeightReport& weight) {
  Json json = {{"name", weight.name},       {"rows", weight.rows},
               {"columns", weight.columns}, {"scheme", quant::scheme_name(weight.scheme)},
               {"bytes", weight.bytes},     {"source", weight.source}};
  if (weight.is_source_quantized) json["kept"] = kept_as(weight);
  if (weight.error) {
    json["relative_error"] = weight.error->relative();
    json["largest_error"] = weight.error->largest();
  }
  return json;
}

std::vector<std::string> embedding_row(const artifact::Embedding& embedding) {
  const artifact::EmbeddingPart& part = embedding.parts.front();
  const std::string size = fmt::format("{} x {} {}", embedding.rows, embedding.columns,
                                       dtype_name(artifact::element_type(embedding, part)));
  if (part.file.find('/') != std::string::npos)
    return {"embedding", size + ", stored in the head", ""};
  return {part.file, size, format_bytes(artifact::stored_bytes(embedding, part))};
}

// How the embeddings are stored. Embeddings that lie in a head take no bytes of their own.
Json embedding_json(const artifact::Embedding& embedding) {
  const artifact::EmbeddingPart& part = embedding.parts.front();
  const bool is_in_head = part.file.find('/') != std::string::npos;
  return {{"file", is_in_head ? Json() : Json(part.file)},
          {"type", dtype_name(artifact::element_type(embedding, part))},
          {"bytes", is_in_head ? 0 : artifact::stored_bytes(embedding, part)}};
}

// What `check` would say of the packages, and whether it would refuse them.
std::string check_text(const compiler::CompileReport& report, const std::string& output) {
  const auto refused = broken_laws(report.checked, ane::Severity::kRefused);
  return check_report(output, report.checked, {.manifest = &report.manifest}).text +
         (refused.empty()
              ? "anemone check would refuse nothing\n"
              : fmt::format("anemone check would refuse it: {}\n", fmt::join(refused, ", ")));
}

}  // namespace

Json report_json(const compiler::CompileReport& report, const std::string& output) {
  Json packages = Json::array();
  for (const auto& package : report.packages)
    packages.push_back({{"name", package.name},
                        {"content", package.content},
                        {"bytes", package.bytes},
                        {"seconds", package.seconds},
                        {"reused", package.is_reused}});
  Json weights = Json::array();
  for (const auto& weight : report.weights) weights.push_back(weight_json(weight));
  const artifact::Manifest& manifest = report.manifest;
  Json json = {{"output", output},
               {"model_type", manifest.model_type},
               {"precision", manifest.precision},
               {"quantization", manifest.quantization},
               {"context", manifest.context},
               {"functions", functions_json(manifest)},
               {"form", form_json(manifest.form)},
               {"source_bytes", report.source_bytes},
               {"total_bytes", report.total_bytes},
               {"cache_bytes", report.cache_bytes},
               {"dry_run", report.is_dry_run},
               {"seconds", report.seconds},
               {"packages", std::move(packages)},
               {"embedding", embedding_json(manifest.embedding)},
               {"weights", std::move(weights)},
               {"notes", report.notes}};
  if (report.experts) json["experts"] = experts_json(*report.experts);
  if (report.is_dry_run)
    json["check"] = check_report(output, report.checked, {.manifest = &report.manifest}).json;
  return json;
}

std::string report_text(const compiler::CompileReport& report, const std::string& output,
                        bool is_detailed) {
  const artifact::Manifest& manifest = report.manifest;
  std::string text = fmt::format("{}: {} {}, {} layers, {} {}\n", escaped(output),
                                 manifest.model_type, escaped(manifest.name), manifest.layers,
                                 manifest.precision, manifest.quantization);
  text += table({{"context", fmt::format("{} tokens", manifest.context)},
                 {"functions", functions_text(manifest)}},
                "  ");
  std::vector<std::vector<std::string>> rows;
  for (const auto& package : report.packages)
    rows.push_back({package.name, package.content, format_bytes(package.bytes),
                    package.is_reused ? "from the earlier run" : ""});
  rows.push_back(embedding_row(manifest.embedding));
  if (manifest.layer_embedding) rows.push_back(embedding_row(*manifest.layer_embedding));
  text += table(rows, "  ");
  text += fmt::format("  in memory: {} of weights (mapped), {} of caches per session\n",
                      format_bytes(report.total_bytes), format_bytes(report.cache_bytes));
  if (report.experts) text += lines_for_terminal(experts_text(*report.experts));
  if (const std::string kept = kept_text(report.weights); !kept.empty())
    text += lines_for_terminal(fmt::format("  quantized matrices: {}\n", kept));
  if (report.is_dry_run) text += form_text(manifest.form, is_detailed);
  for (const std::string& note : report.notes)
    text += lines_for_terminal(fmt::format("  note: {}\n", note));
  if (report.is_dry_run)
    return text +
           fmt::format("  about {}{}; nothing was written\n\n", format_bytes(report.total_bytes),
                       report.source_bytes == 0
                           ? ""
                           : fmt::format(" from {}", format_bytes(report.source_bytes))) +
           check_text(report, output);
  return text + fmt::format("  {} from {} in {}\n", format_bytes(report.total_bytes),
                            format_bytes(report.source_bytes), format_duration(report.seconds));
}

std::string details_text(const compiler::CompileReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"matrix", "size", "from", "stored as", "bytes", "relative error", "largest"}};
  for (const auto& weight : report.weights)
    rows.push_back({weight.name, fmt::format("{} x {}", weight.rows, weight.columns), weight.source,
                    fmt::format("{}{}{}", quant::scheme_name(weight.scheme),
                                weight.is_source_quantized ? ", " : "", kept_as(weight)),
                    format_bytes(weight.bytes),
                    weight.error ? percent(weight.error->relative()) : "",
                    weight.error ? fmt::format("{:.3g}", weight.error->largest()) : ""});
  std::string text = "\n" + table(rows, "  ");
  if (report.is_dry_run) return text;
  rows = {{"time", ""}};
  double rest = report.seconds - report.embedding_seconds;
  for (const auto& package : report.packages) {
    rows.push_back({package.name, fmt::format("{:.2f} s", package.seconds)});
    rest -= package.seconds;
  }
  rows.push_back({"embedding", fmt::format("{:.2f} s", report.embedding_seconds)});
  rows.push_back({"the rest", fmt::format("{:.2f} s", rest)});
  return text + "\n" + table(rows, "  ");
}

}  // namespace anemone::cli

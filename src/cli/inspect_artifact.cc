// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>

#include "artifact/manifest.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/progress.h"
#include "cli/inspect.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

std::uint64_t bytes_below(const artifact::Manifest& manifest, const std::string& name) {
  std::uint64_t bytes = 0;
  for (const artifact::FileEntry& file : manifest.files)
    if (file.path == name || file.path.starts_with(name + "/")) bytes += file.bytes;
  return bytes;
}

std::uint64_t cache_bytes(const artifact::Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const artifact::Shard& shard : manifest.shards)
    for (const artifact::Cache& cache : shard.caches)
      bytes += dtype_bytes(cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape)));
  return bytes;
}

std::string quality_text(const artifact::Manifest& manifest) {
  if (!manifest.verification) return "unverified";
  const artifact::Verification& verdict = *manifest.verification;
  const artifact::Agreement& value = verdict.agreement;
  return fmt::format(
      "{} against {} over {} tokens ({}): cosine {:.4f}, lowest {:.4f}; top-1 {:.1f} %; perplexity "
      "{:.4g}, reference {:.4g}",
      verdict.passed ? "passed" : "FAILED", escaped(verdict.against), value.tokens,
      escaped(verdict.text), value.cosine_mean, value.cosine_min, 100 * value.top1,
      value.perplexity, value.reference_perplexity);
}

// "vocabulary 0-149 in 2 outputs".
std::string heads_text(std::span<const artifact::Head> heads) {
  std::string text =
      fmt::format("vocabulary {}-{}", heads.front().vocab_begin, heads.back().vocab_end - 1);
  if (heads.size() > 1) text += fmt::format(" in {} outputs", heads.size());
  return text;
}

// Adds a line for the embeddings. Those in several packages, or of several types, get a line each.
void add_embedding(const artifact::Manifest& manifest,
                   std::vector<std::vector<std::string>>& rows) {
  const artifact::Embedding& table = manifest.embedding;
  const auto package_of = [](const artifact::EmbeddingPart& part) {
    return part.file.substr(0, part.file.find('/'));
  };
  for (std::size_t i = 0; i < table.parts.size();) {
    const artifact::EmbeddingPart& first = table.parts[i];
    const DType type = artifact::element_type(table, first);
    std::int64_t count = 0;
    for (; i < table.parts.size() && package_of(table.parts[i]) == package_of(first) &&
           artifact::element_type(table, table.parts[i]) == type;
         ++i)
      count += table.parts[i].rows;
    const bool is_shared = first.file.find('/') != first.file.npos;
    rows.push_back({is_shared ? "embedding" : first.file,
                    fmt::format("{} x {} {}{}", count, table.columns, dtype_name(type),
                                is_shared ? ", the bytes of " + package_of(first) : ""),
                    is_shared ? "" : format_bytes(bytes_below(manifest, first.file))});
  }
}

std::string report_text(const std::string& path, const artifact::Manifest& manifest) {
  std::string text =
      fmt::format("{}: compiled model {}, {} with {} layers, {} {}, for {}\n", escaped(path),
                  escaped(manifest.name), escaped(manifest.model_type), manifest.layers,
                  manifest.precision, manifest.quantization, manifest.target);
  std::vector<std::vector<std::string>> rows = {
      {"context",
       fmt::format("{} tokens (the model's maximum is {}); KV cache {}", manifest.context,
                   manifest.max_position, format_bytes(cache_bytes(manifest)))},
      {"functions", functions_text(manifest)},
      {"vocabulary",
       fmt::format("{}{}", manifest.embedding.rows,
                   manifest.is_greedy() ? "; the head gives the most likely token" : "")},
      {"hidden size", fmt::format("{}, {}", manifest.hidden_size,
                                  artifact::hidden_layout_name(manifest.form.layout))},
  };
  if (manifest.classifies()) {
    rows.push_back({"labels", fmt::format("{}", fmt::join(manifest.labels, " "))});
  } else {
    rows.push_back({"end of text", fmt::format("{}", fmt::join(manifest.eos_ids, " "))});
    rows.push_back(
        {"sampling", manifest.generation->empty() ? "greedy" : dump_json(*manifest.generation)});
  }
  rows.push_back({"quality", quality_text(manifest)});
  rows.push_back({"written by", escaped(manifest.producer)});
  text += table(rows, "  ");
  rows.clear();
  for (const artifact::Shard& shard : manifest.shards) {
    std::string content = artifact::layers_text(shard.layers);
    if (manifest.has_head_inside() && &shard == &manifest.shards.back())
      content += ", " + heads_text(manifest.heads);
    rows.push_back(
        {shard.package, std::move(content), format_bytes(bytes_below(manifest, shard.package))});
    if (!shard.experts) continue;
    for (const artifact::ExpertPack& pack : shard.experts->packs)
      rows.push_back({pack.package,
                      artifact::experts_text(shard.layers.end - 1, pack.begin, pack.end),
                      format_bytes(bytes_below(manifest, pack.package))});
  }
  for (const std::span<const artifact::Head> heads : manifest.head_packages()) {
    const std::string& package = heads.front().package;
    rows.push_back({package, heads_text(heads), format_bytes(bytes_below(manifest, package))});
  }
  if (manifest.embed)
    rows.push_back({manifest.embed->package, "final norm",
                    format_bytes(bytes_below(manifest, manifest.embed->package))});
  add_embedding(manifest, rows);
  if (manifest.layer_embedding)
    for (const artifact::EmbeddingPart& part : manifest.layer_embedding->parts)
      rows.push_back(
          {part.file,
           fmt::format("{} x {} {}, of all layers", part.rows, manifest.layer_embedding->columns,
                       dtype_name(artifact::element_type(*manifest.layer_embedding, part))),
           format_bytes(bytes_below(manifest, part.file))});
  return text + table(rows, "  ") +
         fmt::format("  {} files, all with the size and hash of the manifest\n",
                     manifest.files.size());
}

}  // namespace

std::string functions_text(const artifact::Manifest& manifest) {
  std::string text;
  for (const artifact::Function& function : manifest.functions)
    text += fmt::format("{}{} (T={}{}{})", text.empty() ? "" : ", ", function.name,
                        function.is_flexible ? "1 to " : "", function.tokens,
                        function.context == 0 ? "" : fmt::format(", S={}", function.context));
  return text;
}

Result<Report> inspect_artifact(const InspectOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const artifact::Manifest manifest,
                           artifact::read_manifest(options.path));
  ANEMONE_RETURN_IF_ERROR(artifact::check_files(options.path, manifest, /*check_hashes=*/true));
  return Report{report_text(options.path, manifest), artifact::to_json(manifest)};
}

}  // namespace anemone::cli

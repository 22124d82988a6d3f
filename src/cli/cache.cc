// SPDX-License-Identifier: Apache-2.0
// `anemone cache`: the models that `run`, `serve` and `bench` compiled for themselves, and what
// Core ML made of packages.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "base/json.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/scratch_folder.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/model_cache.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "exec/coreml/compiled_cache.h"

namespace anemone::cli {
namespace {

// Digits shown of a key of Core ML's cache: as many as the keys of models have.
constexpr std::size_t kShownDigits = 32;

std::string state_of(const CacheEntry& entry) {
  if (entry.is_busy) return "being compiled";
  return entry.name.empty() || !entry.unused_days ? "not complete" : entry.producer;
}

std::string use_of(const CacheEntry& entry) {
  if (!entry.unused_days) return "";
  if (*entry.unused_days < 1) return "used today";
  return fmt::format("used {:.0f} day{} ago", *entry.unused_days,
                     *entry.unused_days < 1.5 ? "" : "s");
}

// A compiled model of Core ML, with the name of the model that its package is a part of.
struct CompiledRow {
  exec::coreml::CompiledEntry entry;
  std::string model;
  std::string package;
};

Result<std::vector<CompiledRow>> compiled_rows() {
  ANEMONE_ASSIGN_OR_RETURN(const std::string folder, coreml_cache_folder());
  std::vector<CompiledRow> rows;
  for (exec::coreml::CompiledEntry& entry : exec::coreml::list_compiled(folder)) {
    CompiledRow& row = rows.emplace_back();
    row.package = last_name(entry.source);
    if (!entry.source.empty()) {
      const std::string artifact = std::filesystem::path(entry.source).parent_path().string();
      row.model = last_name(artifact);
      // In the cache of models every artifact is called that.
      if (row.model == "artifact")
        if (const auto manifest = artifact::read_manifest(artifact); manifest.ok())
          row.model = manifest->name;
    }
    row.entry = std::move(entry);
  }
  return rows;
}

std::string state_of(const exec::coreml::CompiledEntry& entry) {
  if (entry.is_busy) return "in use";
  return entry.is_complete ? "Core ML, " + entry.machine : "not complete";
}

Status run_list(bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(const auto compiled, compiled_rows());
  ANEMONE_ASSIGN_OR_RETURN(const auto entries, cache.list());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    rows.push_back({entry.name.empty() ? "(none)" : escaped(entry.name),
                    entry.context == 0 ? "" : fmt::format("{} tokens", entry.context),
                    format_bytes(entry.bytes), use_of(entry), escaped(state_of(entry)), entry.key});
    json.push_back({{"key", entry.key},
                    {"name", entry.name},
                    {"producer", entry.producer},
                    {"bytes", entry.bytes},
                    {"context", entry.context},
                    {"unused_days", entry.unused_days ? Json(*entry.unused_days) : Json()},
                    {"busy", entry.is_busy},
                    {"kind", "model"}});
  }
  for (const CompiledRow& row : compiled) {
    const exec::coreml::CompiledEntry& entry = row.entry;
    bytes += entry.bytes;
    rows.push_back({escaped(row.model + " " + row.package), "", format_bytes(entry.bytes), "",
                    escaped(state_of(entry)), entry.key.substr(0, kShownDigits)});
    json.push_back({{"key", entry.key},
                    {"name", row.model},
                    {"package", row.package},
                    {"machine", entry.machine},
                    {"bytes", entry.bytes},
                    {"busy", entry.is_busy},
                    {"kind", "coreml"}});
  }
  if (is_json) return print_out(dump_json(json, 2) + "\n");
  const std::string more =
      compiled.empty() ? "" : fmt::format("{} packages compiled by Core ML, ", compiled.size());
  return print_out(table(rows, "") + fmt::format("{} model{}, {}{}\n", entries.size(),
                                                 entries.size() == 1 ? "" : "s", more,
                                                 format_bytes(bytes)));
}

// What a command removed, as it says that at its end.
class Removed {
 public:
  void add(const std::vector<CacheEntry>& entries) {
    for (const CacheEntry& entry : entries) {
      const std::string name = entry.name.empty() ? "a model that is not complete" : entry.name;
      add(entry.bytes, fmt::format("{} {}", escaped(name), entry.key),
          {{"kind", "model"}, {"name", entry.name}, {"key", entry.key}});
    }
  }

  void add(const CompiledRow& row, std::uint64_t bytes) {
    add(bytes,
        fmt::format("{} {}, compiled by Core ML, {}", escaped(row.model), escaped(row.package),
                    row.entry.key.substr(0, kShownDigits)),
        {{"kind", "coreml"},
         {"name", row.model},
         {"package", row.package},
         {"key", row.entry.key}});
  }

  void add_scratch(std::uint64_t bytes) {
    if (bytes > 0) add(bytes, "temporary files", {{"kind", "temporary"}});
  }

  Status print(bool is_json) const {
    if (is_json)
      return print_out(dump_json(Json{{"freed_bytes", bytes_}, {"removed", json_}}, 2) + "\n");
    return print_out(text_ + fmt::format("{} are free again\n", format_bytes(bytes_)));
  }

 private:
  void add(std::uint64_t bytes, const std::string& what, Json json) {
    bytes_ += bytes;
    text_ += fmt::format("removed {} ({})\n", what, format_bytes(bytes));
    json["bytes"] = bytes;
    json_.push_back(std::move(json));
  }

  std::uint64_t bytes_ = 0;
  std::string text_;
  Json json_ = Json::array();
};

// Removes what Core ML compiled, as far as `is_unwanted` says so.
template <typename Predicate>
Status remove_compiled_rows(const std::vector<CompiledRow>& rows, const Predicate& is_unwanted,
                            Removed& removed) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string folder, coreml_cache_folder());
  for (const CompiledRow& row : rows) {
    if (!is_unwanted(row)) continue;
    ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t bytes,
                             exec::coreml::remove_compiled(folder, row.entry));
    // Another process removed or uses it meanwhile.
    if (bytes > 0) removed.add(row, bytes);
  }
  return {};
}

// Nobody needs it again: it is not complete, or the package that it was made of is gone.
bool is_stale(const CompiledRow& row) {
  std::error_code ignored;
  return !row.entry.is_complete || row.entry.source.empty() ||
         !std::filesystem::exists(row.entry.source, ignored);
}

// Deletes the temporary folders that killed processes left, for instance those of verify. Returns
// how many bytes that freed.
Result<std::uint64_t> discard_scratch() {
  ANEMONE_ASSIGN_OR_RETURN(const std::string folder, make_cache_folder());
  return ScratchFolder::discard_all(folder);
}

Status run_clear(bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t bytes, cache.clear());
  ANEMONE_ASSIGN_OR_RETURN(const std::string folder, coreml_cache_folder());
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t compiled, exec::coreml::clear_compiled(folder));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t scratch, discard_scratch());
  const std::uint64_t freed = bytes + compiled + scratch;
  if (is_json) return print_out(dump_json(Json{{"freed_bytes", freed}}, 2) + "\n");
  return print_out(fmt::format("{} are free again\n", format_bytes(freed)));
}

Status run_remove(const std::vector<std::string>& names, bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(const auto compiled, compiled_rows());
  const auto is_named = [](const CompiledRow& row, const std::string& name) {
    return row.model == name || row.entry.key == name ||
           row.entry.key.substr(0, kShownDigits) == name;
  };
  // The cache of models may not know a name that what Core ML compiled has.
  ANEMONE_ASSIGN_OR_RETURN(const auto entries, cache.list());
  std::vector<std::string> of_models;
  for (const std::string& name : names) {
    const auto is_entry = [&](const CacheEntry& entry) {
      return entry.name == name || entry.key == name;
    };
    bool has_rows = false;
    for (const CompiledRow& row : compiled) {
      if (!is_named(row, name)) continue;
      has_rows = true;
      if (row.entry.is_busy)
        return Status(Code::kBusy, fmt::format("[{}] another process uses {}", name, row.package));
    }
    if (!has_rows || std::ranges::any_of(entries, is_entry)) of_models.push_back(name);
  }
  Removed removed;
  ANEMONE_ASSIGN_OR_RETURN(const auto models, cache.remove(of_models));
  removed.add(models);
  const auto is_unwanted = [&](const CompiledRow& row) {
    return std::ranges::any_of(names, [&](const auto& name) { return is_named(row, name); });
  };
  ANEMONE_RETURN_IF_ERROR(remove_compiled_rows(compiled, is_unwanted, removed));
  return removed.print(is_json);
}

Status run_prune(const std::string& max_size, bool is_json) {
  PruneRequest request;
  if (!max_size.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(request.max_bytes, parse_size(max_size, "--max-size"));
  }
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  Removed removed;
  ANEMONE_ASSIGN_OR_RETURN(const auto models, cache.prune(request));
  removed.add(models);
  // After it: what was compiled of a model that went is stale now.
  ANEMONE_ASSIGN_OR_RETURN(const auto compiled, compiled_rows());
  ANEMONE_RETURN_IF_ERROR(remove_compiled_rows(compiled, is_stale, removed));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t scratch, discard_scratch());
  removed.add_scratch(scratch);
  return removed.print(is_json);
}

}  // namespace

void add_cache_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "cache",
      "Show or remove the models that run, serve and bench compiled into the cache, and what Core "
      "ML compiled of packages");
  command->require_subcommand(1);
  const auto is_json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand(
      "list",
      "Show each with its size, its last use and the version of anemone that made it: the most "
      "recently used model first, then what Core ML compiled");
  CLI::App* remove = command->add_subcommand(
      "rm", "Remove models, and what Core ML compiled of them, by names or keys");
  const auto names = std::make_shared<std::vector<std::string>>();
  remove->add_option("NAME", *names, "Name or key of a model, as cache list shows them (several)")
      ->required();
  CLI::App* prune = command->add_subcommand(
      "prune",
      "Remove models that are not complete or of another version, those not used longest, what "
      "Core ML compiled of packages that are gone, and temporary files of processes that were "
      "killed");
  const auto max_size = std::make_shared<std::string>();
  prune->add_option("--max-size", *max_size,
                    "Remove more, the least recently used first, until no more than this is left: "
                    "20GB, 500mb; what Core ML compiled does not count");
  CLI::App* clear = command->add_subcommand(
      "clear",
      "Remove all models, except those that are being compiled or opened, all that Core ML "
      "compiled, and temporary files of processes that were killed");
  for (CLI::App* part : {list, remove, prune, clear})
    part->add_flag("--json", *is_json, "Machine-readable output");
  command->footer(
      "The models lie in $ANEMONE_CACHE, else in $XDG_CACHE_HOME/anemone, else in "
      "~/.cache/anemone.\n"
      "\n"
      "Examples:\n"
      "  anemone cache list\n"
      "  anemone cache rm Qwen2.5-0.5B-Instruct\n"
      "  anemone cache prune --max-size 20GB\n"
      "  anemone cache clear");
  list->callback(
      [is_json, &context] { context.action = [is_json] { return run_list(*is_json); }; });
  remove->callback([is_json, names, &context] {
    context.action = [is_json, names] { return run_remove(*names, *is_json); };
  });
  prune->callback([is_json, max_size, &context] {
    context.action = [is_json, max_size] { return run_prune(*max_size, *is_json); };
  });
  clear->callback(
      [is_json, &context] { context.action = [is_json] { return run_clear(*is_json); }; });
}

}  // namespace anemone::cli

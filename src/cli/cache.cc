// SPDX-License-Identifier: Apache-2.0
// `anemone cache`: the models that `run`, `serve` and `bench` compiled for themselves.
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/model_cache.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

std::string state_of(const CacheEntry& entry) {
  if (entry.is_busy) return "being compiled";
  return entry.name.empty() ? "not complete" : entry.producer;
}

Status run_list(bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(const auto entries, cache.list());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    rows.push_back(
        {entry.key, escaped(entry.name), format_bytes(entry.bytes), escaped(state_of(entry))});
    json.push_back({{"key", entry.key},
                    {"name", entry.name},
                    {"producer", entry.producer},
                    {"bytes", entry.bytes},
                    {"busy", entry.is_busy}});
  }
  if (is_json) return print_out(dump_json(json, 2) + "\n");
  return print_out(table(rows, "") +
                   fmt::format("{} models, {}\n", entries.size(), format_bytes(bytes)));
}

Status run_clear(bool is_json) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t bytes, cache.clear());
  if (is_json) return print_out(dump_json(Json{{"freed_bytes", bytes}}, 2) + "\n");
  return print_out(fmt::format("{} are free again\n", format_bytes(bytes)));
}

}  // namespace

void add_cache_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "cache", "Show or clear the models that run, serve and bench compiled into the cache");
  command->require_subcommand(1);
  const auto is_json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand(
      "list", "Show each with its size and the version of anemone that made it");
  CLI::App* clear = command->add_subcommand(
      "clear", "Remove all models except those that are being compiled or opened");
  for (CLI::App* part : {list, clear})
    part->add_flag("--json", *is_json, "Machine-readable output");
  command->footer(
      "The models lie in $ANEMONE_CACHE, else in $XDG_CACHE_HOME/anemone, else in "
      "~/.cache/anemone.\n"
      "\n"
      "Examples:\n"
      "  anemone cache list\n"
      "  anemone cache clear");
  list->callback(
      [is_json, &context] { context.action = [is_json] { return run_list(*is_json); }; });
  clear->callback(
      [is_json, &context] { context.action = [is_json] { return run_clear(*is_json); }; });
}

}  // namespace anemone::cli

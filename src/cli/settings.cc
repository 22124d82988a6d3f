// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "base/ascii.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "cli/help.h"
#include "cli/usage.h"

extern char** environ;

namespace anemone::cli {
namespace {

constexpr std::string_view kVariablePrefix = "ANEMONE_";
constexpr std::uint64_t kMaxSettingsBytes = 1 << 20;

// Flags of one command line are not set for others; a key stands in ANEMONE_API_KEY, which `serve`
// reads itself, or in a file that others cannot read.
bool can_be_set(const CLI::Option& option) {
  if (option.get_lnames().empty()) return false;
  const std::string& name = option.get_lnames().front();
  return name != "help" && name != "version" && name != "config" && name != "api-key";
}

// ANEMONE_CACHE_PRUNE_MAX_SIZE for "cache.prune" and "max-size", ANEMONE_THREADS for "" and
// "threads".
std::string variable_name(std::string_view command, std::string_view flag) {
  std::string name = fmt::format("{}{}{}", command, command.empty() ? "" : "_", flag);
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return std::string(kVariablePrefix) + name;
}

// The commands that lead to this one, with dots between: "cache.prune"; empty for the top.
std::string path_of(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  const std::string above = path_of(*command.get_parent());
  return above.empty() ? command.get_name() : above + "." + command.get_name();
}

std::vector<const CLI::App*> children(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The paths of a command and of all commands below it.
void add_paths(const CLI::App& command, std::vector<std::string>& paths) {
  paths.push_back(path_of(command));
  for (const CLI::App* child : children(command)) add_paths(*child, paths);
}

void add_names(const CLI::App& command, std::vector<std::string>& names) {
  for (const CLI::Option* option : command.get_options())
    if (can_be_set(*option))
      names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
}

void add_names_below(const CLI::App& command, std::vector<std::string>& names) {
  for (const CLI::App* child : children(command)) {
    add_names(*child, names);
    add_names_below(*child, names);
  }
}

// The long names of the flags that a table of the command may hold, or a variable with its name may
// set: its own, those of the commands below it and those above.
std::vector<std::string> names_for(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    add_names(*app, names);
  add_names_below(command, names);
  return names;
}

const CLI::App* child_named(const CLI::App& app, std::string_view name) {
  for (const CLI::App* child : children(app))
    if (child->get_name() == name) return child;
  return nullptr;
}

// An error for each name in the tables that is no command or no flag.
std::vector<Status> table_errors(const CLI::App& app, const SettingTables& tables,
                                 std::string_view path) {
  std::vector<Status> errors;
  for (const auto& [table, flags] : tables) {
    const CLI::App* command = &app;
    std::string_view rest = table;
    while (command != nullptr && !rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      const CLI::App* child = child_named(*command, name);
      if (child == nullptr)
        errors.push_back(invalid_argument("[{}] expected [{}] to be a command{}", path,
                                          shortened(table, 60),
                                          did_you_mean(name, command_names(*command))));
      command = child;
    }
    if (command == nullptr) continue;
    const std::vector<std::string> names = names_for(*command);
    for (const auto& [flag, value] : flags)
      if (std::ranges::find(names, flag) == names.end())
        errors.push_back(invalid_argument("[{}] expected a flag{}, got {}{}", path,
                                          table.empty() ? "" : " of " + table, shortened(flag, 60),
                                          did_you_mean(flag, names)));
  }
  return errors;
}

std::optional<bool> boolean_of(std::string_view text) {
  const std::string word = ascii_lower(text);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word == "0" || word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

// "run.max-new in settings.toml".
std::string origin_in_file(std::string_view table, std::string_view flag, std::string_view file) {
  return fmt::format("{}{}{} in {}", table, table.empty() ? "" : ".", flag, file);
}

// Checks that the option can have as many values, of this kind.
Status check_form(const CLI::Option& option, const SettingValue& value, const std::string& origin) {
  const std::vector<std::string>& texts = value.texts;
  const auto most = static_cast<std::size_t>(std::max(option.get_items_expected_max(), 0));
  if (most == 0 && (texts.size() != 1 || !boolean_of(texts.front())))
    return invalid_argument("[{}] expected true or false, got {}", origin,
                            shortened(fmt::format("{}", fmt::join(texts, ", ")), 60));
  if (most > 0 && value.is_boolean)
    return invalid_argument("[{}] expected a value, got {}", origin, texts.front());
  if (most > 0 && texts.size() > most)
    return invalid_argument("[{}] expected one value, got {}", origin, texts.size());
  return {};
}

// Checks that the option takes the value. The option does not keep it, and none of its callbacks
// runs.
Status check_value(CLI::Option& option, const SettingValue& value, const std::string& origin) {
  ANEMONE_RETURN_IF_ERROR(check_form(option, value, origin));
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  Status status;
  for (const std::string& text : value.texts) option.add_result(text);
  try {
    if (type.starts_with("FLOAT"))
      static_cast<void>(option.as<double>());
    else if (type.starts_with("UINT"))
      static_cast<void>(option.as<std::uint64_t>());
    else if (type.starts_with("INT"))
      static_cast<void>(option.as<std::int64_t>());
    else
      static_cast<void>(option.as<std::vector<std::string>>());
  } catch (const CLI::ConversionError&) {
    status = invalid_argument("[{}] expected a {}, got {}", origin,
                              type.starts_with("FLOAT") ? "number" : "whole number",
                              shortened(value.texts.front(), 60));
  } catch (const CLI::ParseError& error) {
    const std::string_view message = error.what();
    const std::size_t colon = message.find(": ");
    status = invalid_argument("[{}] {}", origin,
                              colon == message.npos ? message : message.substr(colon + 2));
  }
  option.clear();
  return status;
}

// True if a table of the file, or a variable with the name of a command, may set the options of the
// command: it is that of the command itself, or of one above or below it.
bool is_about(std::string_view table, std::string_view command) {
  const auto is_within = [](std::string_view inner, std::string_view outer) {
    return outer.empty() || inner == outer ||
           (inner.starts_with(outer) && inner[outer.size()] == '.');
  };
  return is_within(command, table) || is_within(table, command);
}

std::string named_settings_path(const CLI::App& line) {
  const CLI::Option* option = line.get_option_no_throw("--config");
  if (option != nullptr && option->count() > 0) return option->results().back();
  return environment_variable("ANEMONE_CONFIG").value_or("");
}

}  // namespace

std::map<std::string, std::string> anemone_variables() {
  std::map<std::string, std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::size_t equals = entry.find('=');
    if (!entry.starts_with(kVariablePrefix) || equals == entry.npos || equals + 1 == entry.size())
      continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string default_settings_path() {
  const auto folder = user_config_folder();
  return folder ? *folder + "/anemone/config.toml" : "";
}

Result<std::string> Settings::read_sources(const CLI::App& line, Settings& settings) {
  settings.variables_ = anemone_variables();
  settings.path_ = named_settings_path(line);
  if (settings.path_.empty()) {
    settings.path_ = default_settings_path();
    std::error_code error;
    // A folder without permission is somebody else's home.
    if (settings.path_.empty() || !std::filesystem::is_regular_file(settings.path_, error))
      settings.path_.clear();
  }
  if (settings.path_.empty()) return std::string();
  return read_file(settings.path_, kMaxSettingsBytes);
}

Result<Settings> Settings::read(const CLI::App& line) {
  Settings settings;
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_sources(line, settings));
  ANEMONE_ASSIGN_OR_RETURN(settings.tables_, parse_settings(text, settings.path_));
  const std::vector<Status> errors = table_errors(line, settings.tables_, settings.path_);
  if (!errors.empty()) return errors.front();
  return settings;
}

Result<Settings> Settings::examine(const CLI::App& line, CLI::App& all) {
  Settings settings;
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_sources(line, settings));
  auto tables = parse_settings(text, settings.path_);
  if (tables.ok())
    settings.tables_ = *std::move(tables);
  else
    settings.problems_.emplace_back(tables.status().message());
  for (const Status& error : table_errors(line, settings.tables_, settings.path_))
    settings.problems_.emplace_back(error.message());
  std::vector<std::string> commands;
  add_paths(all, commands);
  settings.examine_values(all, commands);
  return settings;
}

void Settings::examine_values(CLI::App& command, const std::vector<std::string>& commands) {
  const std::string path = path_of(command);
  const auto check = [&](CLI::Option& option, const SettingValue& value,
                         const std::string& origin) {
    const Status status = check_value(option, value, origin);
    if (!status.ok() && wrong_.insert(origin).second) problems_.emplace_back(status.message());
  };
  for (CLI::Option* option : command.get_options()) {
    if (!can_be_set(*option)) continue;
    for (const std::string& flag : option->get_lnames()) {
      for (const std::string& other : commands)
        if (is_about(other, path))
          if (const auto it = variables_.find(variable_name(other, flag)); it != variables_.end())
            check(*option, {.texts = {it->second}}, it->first);
      for (const auto& [table, flags] : tables_)
        if (const auto it = flags.find(flag); it != flags.end() && is_about(table, path))
          check(*option, it->second, origin_in_file(table, flag, path_));
    }
  }
  for (CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; }))
    examine_values(*child, commands);
}

std::optional<Settings::Found> Settings::find(const std::vector<std::string>& command,
                                              const std::string& flag) const {
  for (auto path = command.rbegin(); path != command.rend(); ++path) {
    const std::string name = variable_name(*path, flag);
    if (const auto it = variables_.find(name); it != variables_.end())
      return Found{{.texts = {it->second}}, name};
  }
  for (auto path = command.rbegin(); path != command.rend(); ++path) {
    const auto table = tables_.find(*path);
    if (table == tables_.end()) continue;
    if (const auto it = table->second.find(flag); it != table->second.end())
      return Found{it->second, origin_in_file(*path, flag, path_)};
  }
  return std::nullopt;
}

Status Settings::set(CLI::Option& option, const Found& found) {
  ANEMONE_RETURN_IF_ERROR(check_form(option, found.value, found.origin));
  origins_[option.get_name()] = found.origin;
  if (option.get_items_expected_max() == 0) {
    if (boolean_of(found.value.texts.front()).value_or(false)) option.add_result("true");
    return {};
  }
  for (const std::string& text : found.value.texts) option.add_result(text);
  return {};
}

Status Settings::apply(const CLI::App& line, CLI::App& app) {
  std::vector<std::string> command = {""};
  const CLI::App* given = &line;
  CLI::App* target = &app;
  std::vector<std::pair<const CLI::App*, CLI::App*>> chosen = {{given, target}};
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().front();
    target = target->get_subcommand(given->get_name());
    chosen.emplace_back(given, target);
    command.push_back(path_of(*given));
  }
  for (const auto& [from, to] : chosen) {
    const auto options = from->get_options();
    const auto targets = to->get_options();
    for (std::size_t i = 0; i < options.size(); ++i) {
      const CLI::Option& option = *options[i];
      const auto excluded = option.get_excludes();
      if (!can_be_set(option) || option.count() > 0 ||
          std::ranges::any_of(excluded,
                              [](const CLI::Option* other) { return other->count() > 0; }))
        continue;
      for (const std::string& name : option.get_lnames()) {
        const auto found = find(command, name);
        if (!found || wrong_.contains(found->origin)) continue;
        ANEMONE_RETURN_IF_ERROR(set(*targets[i], *found));
        break;
      }
    }
  }
  return {};
}

std::string Settings::with_origins(std::string message) const {
  for (const auto& [name, origin] : origins_) {
    const std::string flag = fmt::format("[{}]", name);
    if (message.starts_with(flag)) return message.replace(0, flag.size(), "[" + origin + "]");
  }
  return message;
}

std::vector<std::string> flag_variables(const CLI::App& app) {
  std::vector<std::string> names;
  for (const std::string& flag : names_for(app)) names.push_back(variable_name(path_of(app), flag));
  for (const CLI::App* child : children(app)) {
    const std::vector<std::string> below = flag_variables(*child);
    names.insert(names.end(), below.begin(), below.end());
  }
  return names;
}

std::string flag_of_variable(const CLI::App& app, const std::string& variable) {
  const std::string path = path_of(app);
  for (const std::string& flag : names_for(app))
    if (variable == variable_name(path, flag))
      return path.empty() ? "--" + flag : fmt::format("--{} of {}", flag, path);
  for (const CLI::App* child : children(app))
    if (std::string found = flag_of_variable(*child, variable); !found.empty()) return found;
  return "";
}

}  // namespace anemone::cli

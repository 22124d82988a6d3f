// SPDX-License-Identifier: Apache-2.0
// The values of flags that the command line does not give. `--max-new` of `anemone run` is taken
// from the first of these that has it: the command line, ANEMONE_RUN_MAX_NEW, ANEMONE_MAX_NEW, the
// table [run] of the settings file, the lines of the file above all tables. For a command below
// another one, such as `cache list`, those of `cache` come after its own. A setting is left out if
// it cannot be combined with a flag of the command line.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/settings_file.h"

namespace anemone::cli {

// The variables of the environment that begin with ANEMONE_ and are not empty: values by name.
std::map<std::string, std::string> anemone_variables();

// Where the settings file is looked for when neither --config nor ANEMONE_CONFIG names one:
// anemone/config.toml in XDG_CONFIG_HOME or ~/.config. Empty without a home.
std::string default_settings_path();

class Settings {
 public:
  // Reads the environment and the settings file. `line` is an app that has parsed the command line,
  // with or without an error. kInvalidArgument when the file names a flag or a command that does
  // not exist; kIo when a file that was named cannot be read.
  static Result<Settings> read(const CLI::App& line);

  // Reads them for `anemone doctor`: each fault of the file, and each value in the file or the
  // environment that the flag of some command cannot have, becomes one of problems() and sets
  // nothing. `all` has the same flags as `line` and has parsed nothing; it is of no use afterwards.
  // kIo when a file that was named cannot be read.
  static Result<Settings> examine(const CLI::App& line, CLI::App& all);

  // Gives the options of `app` the values that the command line does not give. `app` has the same
  // flags as `line` and has parsed nothing yet. kInvalidArgument for a value that the flag cannot
  // have.
  Status apply(const CLI::App& line, CLI::App& app);

  // The message about a flag that was set here, with the variable or the place in the file in place
  // of the flag; any other message as it is.
  std::string with_origins(std::string message) const;

  // The settings file; empty where there is none.
  const std::string& path() const { return path_; }
  const SettingTables& tables() const { return tables_; }
  // The messages about the faults that examine() found.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Found {
    SettingValue value;
    std::string origin;
  };
  // The value of a flag of a command. `command` are the paths that lead to it, such as "", "cache",
  // "cache.prune" for `cache prune`; the settings of a later one go first.
  std::optional<Found> find(const std::vector<std::string>& command, const std::string& flag) const;
  Status set(CLI::Option& option, const Found& found);
  // Reads the environment and returns the text of the settings file, whose path it keeps in path_.
  static Result<std::string> read_sources(const CLI::App& line, Settings& settings);
  // Checks the values of the options of a command and of those below it. `commands` are the paths
  // of all commands.
  void examine_values(CLI::App& command, const std::vector<std::string>& commands);

  std::map<std::string, std::string> variables_;
  std::string path_;
  SettingTables tables_;
  std::map<std::string, std::string> origins_;  // by name of the option
  std::vector<std::string> problems_;
  std::set<std::string> wrong_;  // origins of values that a flag cannot have
};

// The names of the variables that set a flag of the app or of its commands.
std::vector<std::string> flag_variables(const CLI::App& app);

// The flag that a variable sets, "--max-new" or "--max-new of run"; empty where it sets none.
std::string flag_of_variable(const CLI::App& app, const std::string& variable);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// Flags that the command line does not give. `--max-new` of `anemone run` is taken from the first
// of these that has it: the command line, ANEMONE_RUN_MAX_NEW, ANEMONE_MAX_NEW, the table [run] of
// the settings file, its lines above all tables. What excludes a flag of the command line gives
// way to it.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/settings_file.h"

namespace anemone::cli {

// A variable of the environment that begins with ANEMONE_.
struct EnvironmentVariable {
  std::string name;
  std::string value;
};
std::vector<EnvironmentVariable> anemone_variables();

// Where the settings file is looked for when neither --config nor ANEMONE_CONFIG names one:
// anemone/config.toml in XDG_CONFIG_HOME or ~/.config. Empty without a home.
std::string default_settings_path();

class Settings {
 public:
  // Of the environment and of the file. `line` has read the command line, whether or not that was
  // without an error. kInvalidArgument where the file names a flag or a command that is not there;
  // kNotFound for a file that was named and is not there.
  static Result<Settings> read(const CLI::App& line);

  // Gives the options of `app`, which is as `line` was before it read anything, the values that the
  // line does not give. kInvalidArgument for a value that the flag cannot have.
  Status apply(const CLI::App& line, CLI::App& app);

  // The error of a command line that `app` could not read, in which a flag that came from here is
  // called by its origin.
  std::string with_origins(std::string message) const;

  // The settings file; empty where there is none.
  const std::string& path() const { return path_; }
  const SettingTables& tables() const { return tables_; }

 private:
  struct Found {
    SettingValue value;
    std::string origin;
  };
  bool find(const std::vector<std::string>& command, const std::string& flag, Found& out) const;
  Status set(const CLI::Option& given, CLI::Option& option, const Found& found);

  std::map<std::string, std::string> variables_;
  std::string path_;
  SettingTables tables_;
  std::map<std::string, std::string> origins_;  // by name of the option
};

// The flag that a variable sets, "--max-new" or "--max-new of run"; empty where it sets none.
std::string flag_of_variable(const CLI::App& app, const std::string& variable);

}  // namespace anemone::cli

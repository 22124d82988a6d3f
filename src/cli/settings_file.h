// SPDX-License-Identifier: Apache-2.0
// The settings file: flags that hold without being written on each command line, in TOML.
//   threads = 4                      every command that has the flag
//   [run]                            one command
//   max-new = 512
//   stop = ["END", "###"]            a flag that may be given several times
//   [cache.prune]                    a command of a command
//   max-size = "20gb"
#pragma once

#include <anemone/status.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// What one flag is set to.
struct SettingValue {
  std::vector<std::string> texts;  // as they would stand on a command line
  bool is_boolean = false;         // `true` or `false`, the only values of a flag without a value
};

// Flags by name, "max-new", by command: "" for those above all tables, "run", "cache.prune".
// An underscore in a name counts as a hyphen.
using SettingTables = std::map<std::string, std::map<std::string, SettingValue>>;

// kInvalidArgument, with the line, for what is no TOML, a flag that is there twice, and a value
// that no flag has: a date, a table within a list. `subject` names the file in messages.
Result<SettingTables> parse_settings(std::string_view text, std::string_view subject);

}  // namespace anemone::cli

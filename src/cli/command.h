// SPDX-License-Identifier: Apache-2.0
// How the command line is put together: a subcommand begins in a file of its own, with one
// add_<name>_command function; larger ones have further files. A new subcommand is its file (listed
// in CMakeLists.txt), a declaration here and a line in main.cc.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/executors.h"
#include "cli/settings.h"

namespace anemone::cli {

// Flags before or after any subcommand, and what the chosen subcommand wants to do.
struct Context {
  int threads = 0;  // 0: as many as this process may use
  // These become the members of api::ExecutorOptions with the same names, and its `kind`.
  std::string isa;
  bool maps_weights = true;
  std::string delta_net;
  std::string executor_kind;
  bool verbose = false;
  // The subcommand sets this when the user names it; main runs it after all flags are read. It does
  // not throw.
  std::function<Status()> action;
  // What stands in the environment and in the settings file; `doctor` shows it.
  Settings settings;
  // The options whose value is a text, which may be empty. Every other one names something (a file,
  // a key, an address, a function, a number), and main refuses an empty value for it: what
  // `--api-key-file "$UNSET"` gives must not count as a flag that was not there.
  std::set<const CLI::Option*> texts;
  // The values of options that take one of a few words, which shells complete.
  struct KnownWords {
    std::vector<std::string> words;
    bool or_file = false;  // the name of a file is a value, too
    // The flag takes NAME=WORD: `words` are the names, and these come after the sign. Empty:
    // `words` are whole values.
    std::vector<std::string> after_equals = {};
  };
  std::map<const CLI::Option*, KnownWords> words;

  // Notes of the executor go to stderr.
  api::ExecutorOptions executor() const;
};

// Each adds its subcommand with its flags, help text and examples. `context` outlives the app.
void add_bench_command(CLI::App& app, Context& context);
void add_cache_command(CLI::App& app, Context& context);
void add_chat_template_command(CLI::App& app, Context& context);
void add_check_command(CLI::App& app, Context& context);
void add_compile_command(CLI::App& app, Context& context);
void add_doctor_command(CLI::App& app, Context& context);
// `completions` and `man` (generated_text.h).
void add_generated_text_commands(CLI::App& app, Context& context);
void add_inspect_command(CLI::App& app, Context& context);
void add_predict_command(CLI::App& app, Context& context);
void add_embed_command(CLI::App& app, Context& context);
void add_export_command(CLI::App& app, Context& context);
void add_probe_command(CLI::App& app, Context& context);
void add_pull_command(CLI::App& app, Context& context);
void add_run_command(CLI::App& app, Context& context);
void add_selftest_command(CLI::App& app, Context& context);
void add_serve_command(CLI::App& app, Context& context);
void add_tokenize_command(CLI::App& app, Context& context);
void add_verify_command(CLI::App& app, Context& context);

}  // namespace anemone::cli

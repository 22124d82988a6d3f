// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "api/executors.h"
#include "base/error.h"
#include "base/log.h"
#include "base/terminal.h"
#include "base/version.h"
#include "cli/cleanup.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/usage.h"

namespace anemone::cli {
namespace {

constexpr auto kCommands = {add_pull_command,    add_compile_command,  add_verify_command,
                            add_run_command,     add_serve_command,    add_embed_command,
                            add_inspect_command, add_check_command,    add_predict_command,
                            add_export_command,  add_tokenize_command, add_chat_template_command,
                            add_bench_command,   add_doctor_command,   add_cache_command,
                            add_probe_command,   add_selftest_command};

int fail(const Status& status) {
  // An empty one was said already.
  if (!status.message().empty()) print_error(status.message());
  return exit_code(status.code());
}

// Refuses an empty value of any option of the command or of its subcommands, unless the option
// takes free text.
Status check_no_empty_values(const CLI::App& app, const Context& context) {
  for (const CLI::Option* option : app.get_options()) {
    if (context.texts.contains(option)) continue;
    const auto& values = option->results();
    if (option->get_items_expected_max() > 0 && std::ranges::find(values, "") != values.end())
      return invalid_argument("[{}] expected a value, got an empty one", option_name(*option));
  }
  for (const CLI::App* chosen : app.get_subcommands())
    ANEMONE_RETURN_IF_ERROR(check_no_empty_values(*chosen, context));
  return {};
}

// The flags and commands of the executable. Both arguments outlive what is read with the app.
void describe(CLI::App& app, Context& context) {
  app.description(
      "Compiles language models to Core ML packages for the Apple Neural Engine, and runs them on "
      "any machine.");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("-V,--version", "anemone " + std::string(version()), "Print the version");
  app.add_option("-t,--threads", context.threads,
                 "Threads to use (default: all that this process may use)")
      ->check(whole_numbers(1, 1024));
  const std::vector<std::string> isas = api::isa_names();
  context.words[app.add_option(
      "--isa", context.isa,
      fmt::format("CPU kernels to use: {} (default: the best of this processor).\nreference is "
                  "the reference interpreter, which fuses nothing",
                  fmt::join(isas, ", ")))] = {isas};
  app.add_flag_callback(
      "--no-mmap", [&] { context.maps_weights = false; },
      "Read the weights into memory, in huge pages where the system has them, instead "
      "of\nusing them in the files: faster answers, a slower start, memory of its own");
  context.words[app.add_option(
      "--delta-net", context.delta_net,
      "How the CPU computes the delta nets of hybrid models (qwen3_next, qwen3_5): exact (the "
      "default),\nor chunked, which reads prompts faster, but the result depends on how a prompt "
      "is cut into steps")] = {{"exact", "chunked"}};
  context.words[app.add_option(
      "--executor", context.executor_kind,
      "What runs packages: cpu (the default), or coreml on a Mac, with the Neural "
      "Engine")] = {{"cpu", "coreml"}};
  const std::vector<std::string> color_modes = {"auto", "always", "never"};
  CLI::Option* color = app.add_option_function<std::string>(
      "--color",
      [](const std::string& when) {
        set_color_mode(when == "always"  ? ColorMode::kAlways
                       : when == "never" ? ColorMode::kNever
                                         : ColorMode::kAuto);
      },
      "auto (colors on a terminal, unless NO_COLOR is set), always or never");
  color->transform(one_of(color_modes));
  context.words[color] = {color_modes};
  app.add_flag_callback(
      "-y,--yes", [] { set_downloads_without_question(true); },
      "Download a model of the hub that is not here without a question");
  app.add_option("--config",
                 "Settings file with values of flags (default:\n~/.config/anemone/config.toml, if "
                 "there is one)");
  app.add_flag("--verbose", context.verbose, "Log what happens to stderr");
  app.footer(
      "Help on one command: anemone COMMAND --help; on exit codes: anemone help exit-codes\n"
      "\n"
      "A variable sets a flag of all commands, ANEMONE_THREADS, or of one, ANEMONE_RUN_MAX_NEW; so "
      "does the settings file. anemone doctor lists what is set.");
  app.fallthrough();
  app.require_subcommand(0, 1);
  for (const auto add : kCommands) add(app, context);
  add_help_commands(app, context);
  add_generated_text_commands(app, context);
}

// Commands that tell of anemone, and must do so whatever stands in the settings.
bool is_about_itself(const CLI::App& command) {
  constexpr std::string_view kNames[] = {"help", "version", "completions", "man"};
  return std::ranges::find(kNames, command.get_name()) != std::end(kNames);
}

// Whether anything but the command line may set a flag. Most calls need no second reading.
bool may_have_settings(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]).starts_with("--config")) return true;
  return !anemone_variables().empty() || ::access(default_settings_path().c_str(), F_OK) == 0;
}

// Gives the app the values of flags that the command line does not give. Which it gives is known
// when another app has read it; what is wrong with the line is said by the one that counts.
Result<Settings> add_settings(int argc, char** argv, CLI::App& app) {
  Context unused;
  CLI::App line("", "anemone");
  describe(line, unused);
  try {
    line.parse(argc, argv);
  } catch (const CLI::Success&) {
    return Settings();
  } catch (const CLI::ParseError&) {
  }
  if (line.get_subcommands().empty() || is_about_itself(*line.get_subcommands().front()))
    return Settings();
  Settings settings;
  if (line.get_subcommands().front()->get_name() == "doctor") {
    Context of_all;
    CLI::App all("", "anemone");
    describe(all, of_all);
    ANEMONE_ASSIGN_OR_RETURN(settings, Settings::examine(line, all));
  } else {
    ANEMONE_ASSIGN_OR_RETURN(settings, Settings::read(line));
  }
  ANEMONE_RETURN_IF_ERROR(settings.apply(line, app));
  return settings;
}

int run(int argc, char** argv) {
  Context context;
  CLI::App app("", "anemone");
  describe(app, context);
  if (may_have_settings(argc, argv)) {
    auto settings = add_settings(argc, argv, app);
    if (!settings.ok()) return fail(settings.status());
    context.settings = *std::move(settings);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    // --help and --version: CLI11 prints the right text for each.
    const int code = app.exit(success);
    return std::fflush(stdout) == 0 ? code : 0;
  } catch (const CLI::ParseError& error) {
    const Status status = usage_error(app, error);
    return fail(
        Status(status.code(), context.settings.with_origins(std::string(status.message()))));
  }
  if (const Status status = check_no_empty_values(app, context); !status.ok()) return fail(status);
  // Somebody who does not know the commands yet.
  if (!context.action && argc <= 1) return print_out(app.help()).ok() ? 0 : 1;
  if (!context.action)
    return fail(invalid_argument("expected a command, got none (see anemone --help)"));
  catch_interrupts();
  if (context.verbose) set_log_level(LogLevel::kDebug);
  const Status status = context.action();
  if (is_interrupted()) {
    std::fflush(stdout);
    end_interrupted();
  }
  if (status.ok() || stdout_is_closed()) return 0;
  return fail(status);
}

// A mapped file keeps its descriptor, and a model of experts in packages has hundreds of files.
// Some systems let a process have 256 unless it asks for more.
void allow_many_files() {
  constexpr rlim_t kEnough = 16384;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace anemone::cli

int main(int argc, char** argv) {
  // A reader that goes away is an error of one write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  // A write beyond the limit on file sizes (ulimit -f) then fails with an error instead of a
  // signal.
  std::signal(SIGXFSZ, SIG_IGN);
  using anemone::Code;
  using anemone::Status;
  try {
    if (const auto code = anemone::cli::run_cleanup(argc, argv)) return *code;
    anemone::cli::allow_many_files();
    return anemone::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return anemone::cli::fail(Status(Code::kOutOfMemory, "out of memory"));
  } catch (const std::exception& error) {
    return anemone::cli::fail(
        Status(Code::kInternal, std::string("internal error: ") + error.what()));
  }
}

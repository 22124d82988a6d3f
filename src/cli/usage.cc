// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <numeric>

#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

constexpr OtherName kCommands[] = {
    {"chat", "run"},        {"generate", "run"},    {"ask", "run"},
    {"download", "pull"},   {"get", "pull"},        {"convert", "compile"},
    {"build", "compile"},   {"create", "compile"},  {"quantize", "compile"},
    {"server", "serve"},    {"start", "serve"},     {"show", "inspect"},
    {"info", "inspect"},    {"dump", "inspect"},    {"benchmark", "bench"},
    {"ls", "cache list"},   {"list", "cache list"}, {"rm", "cache rm"},
    {"remove", "cache rm"}, {"delete", "cache rm"}, {"prune", "cache prune"},
    {"test", "doctor"},     {"compare", "verify"},  {"eval", "verify"},
    {"lint", "check"},      {"infer", "predict"},   {"tokens", "tokenize"},
};

// Flags of llama.cpp, Ollama, vLLM and transformers.
constexpr OtherName kFlags[] = {
    {"--n-predict", "--max-new"},
    {"--predict", "--max-new"},
    {"--max-tokens", "--max-new"},
    {"--max_tokens", "--max-new"},
    {"--num-predict", "--max-new"},
    {"--max-new-tokens", "--max-new"},
    {"--ctx-size", "--context"},
    {"--num-ctx", "--context"},
    {"--max-model-len", "--context"},
    {"--n-ctx", "--context"},
    {"--temp", "--temperature"},
    {"--repeat-penalty", "--repetition-penalty"},
    {"--quantize", "--quant"},
    {"--quantization", "--quant"},
    {"--out", "--output"},
    {"--outfile", "--output"},
    {"--served-model-name", "--alias"},
    {"--json-schema-file", "--json-schema"},
    {"--grammar-file", "--grammar"},
    {"--model", "MODEL"},
    {"--num-threads", "--threads"},
    {"--system-prompt", "--system"},
    {"--system-prompt-file", "--system"},
    {"--prompt-file", "--file"},
    {"--cert", "--tls-cert"},
    {"--ssl-certfile", "--tls-cert"},
    {"--ssl-cert-file", "--tls-cert"},
    {"--ssl-keyfile", "--tls-key"},
    {"--ssl-key-file", "--tls-key"},
    {"--listen", "--host"},
    {"--bind", "--host"},
    {"--allowed-origins", "--cors"},
};

// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kMaxWord = 64;
  a = a.substr(0, kMaxWord);
  b = b.substr(0, kMaxWord);
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

// What did_you_mean() proposes.
std::string meant(std::string_view word, const std::vector<std::string>& candidates,
                  std::span<const OtherName> known) {
  const std::string wanted = ascii_lower(word);
  for (const OtherName& other : known) {
    // A flag is only proposed to a command that has it.
    const bool is_here =
        other.ours.front() != '-' || std::ranges::find(candidates, other.ours) != candidates.end();
    if (wanted == other.theirs && is_here) return std::string(other.ours);
  }
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(1, wanted.size() / 3);
  for (const std::string& candidate : candidates) {
    const std::size_t letters =
        wanted.size() - std::min(wanted.size(), wanted.find_first_not_of('-'));
    const bool is_begin = letters >= 3 && candidate.starts_with(wanted);
    const std::size_t away = is_begin ? 1 : distance(wanted, ascii_lower(candidate));
    if (away > least || (best != nullptr && away == least)) continue;
    least = away;
    best = &candidate;
  }
  return best == nullptr ? "" : *best;
}

const CLI::App& last_chosen(const CLI::App& app) {
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  return *chosen;
}

// The long names of all flags that may stand here, those of the top included.
std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      for (const std::string& name : option->get_lnames())
        if (!option->get_group().empty()) names.push_back("--" + name);
  return names;
}

// The option of that name in the chosen command, or above it.
const CLI::Option* option_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (option->check_name(name) || option->get_name() == name) return option;
  return nullptr;
}

// The words of the command line that no option took.
std::vector<std::string> remaining_words(const CLI::App& app) {
  std::vector<std::string> words = last_chosen(app).remaining();
  return words.empty() ? app.remaining(true) : words;
}

// What stands on the command line and belongs nowhere.
std::string unexpected(const CLI::App& app) {
  const CLI::App& command = last_chosen(app);
  const std::vector<std::string> words = remaining_words(app);
  if (words.empty()) return "expected nothing more, got another argument";
  // The library keeps them in the order of the line, flags first where they are known to be such.
  const auto flag = std::ranges::find_if(
      words, [](const std::string& word) { return word.starts_with('-') && word.size() > 1; });
  std::string word = flag == words.end() ? words.front() : *flag;
  const std::string name = chosen_command(app);
  if (word.starts_with('-') && word.size() > 1) {
    word = word.substr(0, word.find('='));
    return fmt::format("[{}] no such option of {}{}", shortened(word, 60), name,
                       did_you_mean(word, flag_names(command), kFlags));
  }
  const std::vector<std::string> commands = command_names(command);
  if (!commands.empty())
    return fmt::format(
        "[{}] no such command of {}{}", shortened(word, 60), name,
        did_you_mean(
            word, commands,
            command.get_parent() == nullptr ? std::span(kCommands) : std::span<const OtherName>()));
  return fmt::format("[{}] expected no further argument of {}; quotes keep a text together",
                     shortened(word, 60), name);
}

// "N required TYPE missing" and its kin.
std::string without_value(const CLI::App& app, const std::string& message) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  const CLI::Option* option = option_of(last_chosen(app), name);
  if (option != nullptr && option->get_items_expected_max() == 0)
    return fmt::format("[{}] expected no value, got one", name);
  return fmt::format("[{}] expected a value, got none", name);
}

std::string not_a_number(const CLI::App& app, std::string message) {
  constexpr std::string_view kBegin = "Could not convert: ";
  if (!message.starts_with(kBegin)) return message;
  message.erase(0, kBegin.size());
  const std::size_t equals = message.find(" = ");
  const std::string name = message.substr(0, equals);
  const std::string value = equals == message.npos ? "" : message.substr(equals + 3);
  const CLI::Option* option = option_of(last_chosen(app), name);
  const bool is_whole =
      option == nullptr || option->get_type_name().find("FLOAT") == std::string::npos;
  return fmt::format("[{}] expected a {}, got {}", name, is_whole ? "whole number" : "number",
                     shortened(value, 60));
}

// "A WORD B", as the library says what two options have to do with each other.
std::string pair_of(const std::string& message, std::string_view word, std::string_view said) {
  const std::size_t at = message.find(word);
  if (at == message.npos) return message;
  return fmt::format("[{}] {} {}", message.substr(0, at), said, message.substr(at + word.size()));
}

std::string required(const CLI::App& app, const std::string& message) {
  if (message.starts_with("A subcommand")) {
    if (!app.remaining(true).empty()) return unexpected(app);
    const std::vector<std::string> names = command_names(last_chosen(app));
    std::string list;
    for (std::size_t i = 0; i < names.size(); ++i)
      list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    return fmt::format("[{}] expected {}, got none of them", chosen_command(app), list);
  }
  if (const std::size_t at = message.find(" is required"); at != message.npos) {
    // A misspelt flag is more likely than a forgotten value.
    if (std::ranges::any_of(remaining_words(app), [](const std::string& word) {
          return word.starts_with('-') && word.size() > 1 && word != "--";
        }))
      return unexpected(app);
    std::string name = message.substr(0, at);
    const CLI::Option* option = option_of(last_chosen(app), name);
    if (option == nullptr) return fmt::format("[{}] expected a value, got none", name);
    if (option->get_positional())
      return fmt::format("[{}] expected a value, got none", option_name(*option));
    std::string flags = "--" + option->get_lnames().front();
    if (!option->get_snames().empty())
      flags = fmt::format("-{} or {}", option->get_snames().front(), flags);
    return fmt::format("[{}] is missing: expected {} with a value", option_name(*option), flags);
  }
  return message;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::span<const OtherName> known) {
  const std::string found = meant(word, candidates, known);
  return found.empty() ? "" : fmt::format(": did you mean {}?", found);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

std::string option_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : option.get_name();
}

std::string chosen_command(const CLI::App& app) {
  std::string name = "anemone";
  for (const CLI::App* chosen = &app; !chosen->get_subcommands().empty();) {
    chosen = chosen->get_subcommands().front();
    name += " " + chosen->get_name();
  }
  return name;
}

Status usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && message.back() == ' ') message.pop_back();
  // By type: some versions of the library give an error the name of the command instead.
  const auto is = [&]<typename T>(const T*) { return dynamic_cast<const T*>(&error) != nullptr; };
  if (is(static_cast<const CLI::ExtrasError*>(nullptr))) {
    message = unexpected(app);
  } else if (is(static_cast<const CLI::ArgumentMismatch*>(nullptr))) {
    message = without_value(app, message);
  } else if (is(static_cast<const CLI::ConversionError*>(nullptr))) {
    message = not_a_number(app, std::move(message));
  } else if (is(static_cast<const CLI::ExcludesError*>(nullptr))) {
    message = pair_of(message, " excludes ", "cannot be combined with");
  } else if (is(static_cast<const CLI::RequiresError*>(nullptr))) {
    message = pair_of(message, " requires ", "works only together with");
  } else if (is(static_cast<const CLI::RequiredError*>(nullptr))) {
    message = required(app, message);
  } else if (is(static_cast<const CLI::ValidationError*>(nullptr))) {
    if (const std::size_t colon = message.find(": "); colon != message.npos)
      message = fmt::format("[{}] {}", message.substr(0, colon), message.substr(colon + 2));
  }
  return invalid_argument("{} (see {} --help)", message, chosen_command(app));
}

void add_help_commands(CLI::App& app, Context& context) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Show the help of a command");
  help->add_option("COMMAND", *words, "run, or cache list; exit-codes; none: all commands");
  help->callback([&app, &context, words] {
    context.action = [&app, words]() -> Status {
      if (*words == std::vector<std::string>{"exit-codes"}) {
        std::string text = "Exit codes of every command:\n";
        for (const ExitStatus& status : exit_statuses())
          text += fmt::format("  {:>3}  {}\n", status.code, wrapped(status.meaning, 7, 7));
        return print_out(text);
      }
      const CLI::App* command = &app;
      std::string prefix = "anemone";
      for (const std::string& word : *words) {
        const std::vector<std::string> names = command_names(*command);
        if (std::ranges::find(names, word) == names.end())
          return invalid_argument(
              "[{}] no such command of {}{} (see anemone --help)", shortened(word, 60), prefix,
              did_you_mean(word, names,
                           command == &app ? std::span(kCommands) : std::span<const OtherName>()));
        command = command->get_subcommand(word);
        prefix += " " + word;
      }
      // help() of an app shows the subcommand that was chosen: here that is `help` itself.
      return print_out(app.get_formatter()->make_help(command, prefix, CLI::AppFormatMode::Normal));
    };
  });
  CLI::App* version_command = app.add_subcommand("version", "Print the version");
  version_command->callback([&context] {
    context.action = [] { return print_out("anemone " + std::string(version()) + "\n"); };
  });
}

}  // namespace anemone::cli

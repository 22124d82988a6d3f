// SPDX-License-Identifier: Apache-2.0
#include "cli/generated_text.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/number_range.h"
#include "cli/output.h"

namespace anemone::cli {

std::string one_line(std::string_view text) {
  return wrapped(text, 0, 0, std::string::npos / 2);
}

std::vector<Flag> flags_of(const CLI::App& app) {
  std::vector<Flag> out;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || option->get_group().empty()) continue;
    if (option->get_lnames().empty()) continue;
    const OptionText text = option_text(*option);
    Flag flag{"--" + option->get_lnames().front(), "", one_line(text.description), text.value,
              option};
    if (!option->get_snames().empty()) flag.short_name = "-" + option->get_snames().front();
    out.push_back(std::move(flag));
  }
  return out;
}

namespace {

// Text for roff: a backslash begins an escape, and so does a dot or a quote at a line's begin.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_begin = out.empty() || out.back() == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (is_begin && (c == '.' || c == '\''))
      out.append("\\&").append(1, c);
    else
      out += c;
  }
  return out;
}

// What stands on the line without a flag, and the flags.
std::string man_arguments(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      out += fmt::format(".TP\n.I {}\n{}\n", option->get_name(true),
                         roff(one_line(option->get_description())));
  return out;
}

std::string man_options(const CLI::App& app) {
  std::string out;
  for (const Flag& flag : flags_of(app))
    out +=
        fmt::format(".TP\n.B {}{}{}\n{}\n", roff(flag.name),
                    flag.short_name.empty() ? "" : ", " + roff(flag.short_name),
                    flag.has_value() ? " \\fI" + flag.value + "\\fR" : "", roff(flag.description));
  return out;
}

// The sections NOTES and EXAMPLES, made of the footer of a command. Their lines are shorter than
// those of help because man(1) indents them by seven columns.
std::string man_footer(const std::string& footer) {
  constexpr std::string_view kExamples = "Examples:\n";
  constexpr std::size_t kColumns = kHelpColumns - 8;
  const std::size_t at = footer.find(kExamples);
  std::string out;
  if (const std::string notes = footer.substr(0, at); notes.find_first_not_of('\n') != notes.npos)
    out += ".SH NOTES\n.nf\n" + roff(wrapped_footer(notes, kColumns)) + ".fi\n";
  if (at != footer.npos)
    out += ".SH EXAMPLES\n.nf\n" +
           roff(wrapped_footer(footer.substr(at + kExamples.size()), kColumns)) + ".fi\n";
  return out;
}

// The sections that end each page.
std::string man_end(const CLI::App& command, const CLI::App& top) {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitStatus& status : exit_statuses())
    out += fmt::format(".TP\n.B {}\n{}\n", status.code, roff(status.meaning));
  out +=
      ".SH ENVIRONMENT\n"
      "A variable sets a flag of all commands,\n.BR ANEMONE_THREADS ,\n"
      "or of one,\n.BR ANEMONE_RUN_MAX_NEW .\n"
      ".TP\n.B ANEMONE_CACHE\nThe folder of the cache.\n"
      ".TP\n.B ANEMONE_CONFIG\nThe settings file.\n"
      ".TP\n.B ANEMONE_API_KEY\nThe key that clients of\n.B anemone serve\nmust send.\n"
      ".TP\n.B ANEMONE_HISTORY\nThe file of the history of the chat, or\n.BR off .\n"
      ".TP\n.BR ANEMONE_FSYNC =off\nFiles are not waited for until they are on the disk.\n"
      ".TP\n.BR ANEMONE_PROGRESS =off\nNo progress is shown.\n"
      ".SH FILES\n"
      ".TP\n.I ~/.config/anemone/config.toml\nValues of flags.\n"
      ".TP\n.I ~/.cache/anemone\nModels that were compiled into the cache.\n"
      ".SH SEE ALSO\n";
  std::string names;
  const auto add = [&](const std::string& name) {
    names += fmt::format("{}.BR {} (1)", names.empty() ? "" : " ,\n", roff(name));
  };
  if (&command == &top)
    for (const CLI::App* each : commands_of(top)) add("anemone-" + each->get_name());
  else
    add("anemone");
  return out + names + "\n";
}

// The page of a command, "anemone-run"; of the top, "anemone".
std::string man_page(const CLI::App& command, const CLI::App& top) {
  const bool is_top = &command == &top;
  const std::string name = is_top ? "anemone" : "anemone-" + command.get_name();
  std::string out =
      fmt::format(".TH \"{}\" 1 \"\" \"anemone {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", name,
                  version(), roff(name), roff(one_line(command.get_description())));
  out +=
      fmt::format(".SH SYNOPSIS\n.B anemone{}\n[OPTIONS]", is_top ? "" : " " + command.get_name());
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) {
      const std::string word = option->get_name(true);
      out += option->get_required() ? " " + word : " [" + word + "]";
    }
  if (!commands_of(command).empty()) out += " COMMAND";
  out += "\n";
  const std::vector<const CLI::App*> inner = commands_of(command);
  if (!inner.empty()) {
    out += ".SH COMMANDS\n";
    for (const CLI::App* each : inner) {
      // Commands of the top have pages of their own.
      out += fmt::format("{}{}\n{}\n", is_top ? ".TP\n.B " : ".SS ", roff(each->get_name()),
                         roff(one_line(each->get_description())));
      if (!is_top) out += man_arguments(*each) + man_options(*each);
    }
  }
  if (const std::string arguments = man_arguments(command); !arguments.empty())
    out += ".SH ARGUMENTS\n" + arguments;
  out += ".SH OPTIONS\n" + man_options(command);
  if (!is_top) out += ".PP\nThe options of every command are those of\n.BR anemone (1).\n";
  return out + man_footer(command.get_footer()) + man_end(command, top);
}

Status write_pages(const std::string& folder, const CLI::App& top) {
  ANEMONE_RETURN_IF_ERROR(make_directories(folder));
  ANEMONE_RETURN_IF_ERROR(write_file(folder + "/anemone.1", man_page(top, top)));
  for (const CLI::App* command : commands_of(top))
    ANEMONE_RETURN_IF_ERROR(
        write_file(folder + "/anemone-" + command->get_name() + ".1", man_page(*command, top)));
  return {};
}

}  // namespace

void add_generated_text_commands(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completions =
      app.add_subcommand("completions", "Print the completions of a shell: bash, zsh or fish");
  completions->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->transform(one_of({"bash", "zsh", "fish"}));
  completions->footer(
      "Examples:\n"
      "  source <(anemone completions bash)\n"
      "  anemone completions fish >~/.config/fish/completions/anemone.fish");
  completions->callback([&app, &context, shell] {
    context.action = [&app, &context, shell] {
      return print_out(completions_of(app, context, *shell));
    };
  });
  auto folder = std::make_shared<std::string>();
  CLI::App* man = app.add_subcommand("man", "Write the manual pages into a folder");
  man->add_option("FOLDER", *folder, "Where the pages go, as anemone.1, anemone-run.1, ...")
      ->required();
  man->footer("Examples:\n  anemone man ~/.local/share/man/man1");
  man->callback([&app, &context, folder] {
    context.action = [&app, folder] { return write_pages(*folder, app); };
  });
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <utility>
#include <vector>

#include "cli/generated_text.h"
#include "cli/help.h"
#include "cli/shell_word.h"

namespace anemone::cli {
namespace {

// What may stand after a flag.
Context::KnownWords values_of(const Flag& flag, const Context& context) {
  const auto known = context.words.find(flag.option);
  if (known != context.words.end()) return known->second;
  return {.words = {}, .or_file = flag.value != "N"};
}

std::string joined(const std::vector<std::string>& words, std::string_view separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string names_of(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) out += " " + command->get_name();
  return out.empty() ? out : out.substr(1);
}

// The flags of apps, each once.
std::vector<Flag> flags_of_all(const std::vector<const CLI::App*>& apps) {
  std::vector<Flag> out;
  for (const CLI::App* app : apps)
    for (Flag& flag : flags_of(*app))
      if (std::ranges::find(out, flag.name, &Flag::name) == out.end())
        out.push_back(std::move(flag));
  return out;
}

// The flags of a command, of the commands in it, each once, and those that all commands have.
std::vector<Flag> flags_within(const CLI::App& app, const CLI::App& top) {
  std::vector<const CLI::App*> from = {&app};
  if (&app != &top) {
    for (const CLI::App* inner : commands_of(app)) from.push_back(inner);
    from.push_back(&top);
  }
  return flags_of_all(from);
}

// Words of a command: the commands in it, and flags.
std::string words_of(const CLI::App& app, const CLI::App& top) {
  std::string out = names_of(app);
  for (const Flag& flag : flags_within(app, top)) out += " " + flag.name;
  return out;
}

// The flags that take the next word of the line, as patterns of a shell's case.
std::string flags_with_values(const CLI::App& app) {
  std::string out;
  for (const Flag& flag : flags_of(app)) {
    if (!flag.has_value()) continue;
    out += (out.empty() ? "" : "|") + flag.name;
    if (!flag.short_name.empty()) out += "|" + flag.short_name;
  }
  return out;
}

// Lines of a case over "COMMAND FLAG": what completes the value of a flag of the command, whose
// pattern is * for the flags that all commands have.
std::string bash_values(const std::string& command, const std::vector<Flag>& flags,
                        const Context& context) {
  std::string out;
  for (const Flag& flag : flags) {
    if (!flag.has_value()) continue;
    std::string pattern = fmt::format("{}' {}'", command, flag.name);
    if (!flag.short_name.empty()) pattern += fmt::format("|{}' {}'", command, flag.short_name);
    const auto values = values_of(flag, context);
    out += fmt::format("    {}) values={} files={}", pattern, shell_quoted(joined(values.words)),
                       values.or_file ? "1" : "");
    if (!values.after_equals.empty()) out += " after=" + shell_quoted(joined(values.after_equals));
    out += " ;;\n";
  }
  return out;
}

std::string bash_completions(const CLI::App& top, const Context& context) {
  std::string out =
      "# bash completion of anemone, made by `anemone completions bash`.\n"
      "_anemone() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) i\n"
      "  local before command= words= values= files= after= sign= name=\n"
      "  # The shell takes --flag=value and name=value apart at the sign.\n"
      "  if [[ $word == = ]]; then\n"
      "    word= sign=1\n"
      "  elif [[ ${COMP_WORDS[at]} == = ]]; then\n"
      "    sign=1 at=$((at - 1))\n"
      "  fi\n"
      "  if [[ $sign && $at -gt 1 && ${COMP_WORDS[at]} != -* ]]; then\n"
      "    name=${COMP_WORDS[at]} at=$((at - 1))\n"
      "    [[ ${COMP_WORDS[at]} != = ]] || at=$((at - 1))\n"
      "  fi\n"
      "  before=${COMP_WORDS[at]}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      " +
      flags_with_values(top) +
      ") [[ ${COMP_WORDS[i + 1]} != = ]] || ((++i)); ((++i)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command $before\" in\n";
  for (const CLI::App* command : commands_of(top)) {
    std::vector<const CLI::App*> from = {command};
    for (const CLI::App* inner : commands_of(*command)) from.push_back(inner);
    out += bash_values(command->get_name(), flags_of_all(from), context);
  }
  out += bash_values("*", flags_of(top), context);
  out +=
      "    *) before= ;;\n"
      "  esac\n"
      "  if [[ $before ]]; then\n"
      "    if [[ $name ]]; then\n"
      "      values=$after\n"
      "    elif [[ $after ]]; then\n"
      "      values=\"${values// /= }=\"\n"
      "      compopt +o filenames -o nospace 2>/dev/null\n"
      "    fi\n"
      "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
      "    [[ -z $files ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n";
  for (const CLI::App* command : commands_of(top))
    out += fmt::format(
        "    {}) words={} ;;\n", command->get_name(),
        shell_quoted(command->get_name() == "help" ? names_of(top) : words_of(*command, top)));
  out += fmt::format("    *) words={} ;;\n", shell_quoted(words_of(top, top)));
  return out +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  [[ -z $command || $word == -* ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -o filenames -F _anemone anemone\n";
}

// A specification of zsh's _arguments: a colon or bracket would end a description.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// What _arguments does for the value of a flag.
std::string zsh_value(const Flag& flag, const Context& context) {
  if (!flag.has_value()) return "";
  const auto values = values_of(flag, context);
  const std::string words = joined(values.words);
  if (words.empty()) return values.or_file ? ":value:_files" : ":value: ";
  if (!values.after_equals.empty())
    return fmt::format(
        R"(:value:{{if compset -P "*="; then compadd - {}; else compadd -S "=" - {}; fi}})",
        joined(values.after_equals), words);
  if (!values.or_file) return fmt::format(":value:({})", words);
  return fmt::format(":value:{{compadd - {}; _files}}", words);
}

std::string zsh_arguments(const CLI::App& command, const CLI::App& top, const Context& context) {
  std::string out;
  for (const Flag& flag : flags_within(command, top))
    out += fmt::format(" \\\n        {}",
                       shell_quoted(fmt::format("{}[{}]{}", flag.name, zsh_text(flag.description),
                                                zsh_value(flag, context))));
  return out;
}

std::string zsh_completions(const CLI::App& top, const Context& context) {
  std::string out =
      "#compdef anemone\n"
      "# zsh completion of anemone, made by `anemone completions zsh`.\n"
      "_anemone() {\n"
      "  local -a commands\n"
      "  local context state line\n"
      "  commands=(\n";
  for (const CLI::App* command : commands_of(top))
    out += fmt::format("    {}\n", shell_quoted(command->get_name() + ":" +
                                                zsh_text(one_line(command->get_description()))));
  out +=
      "  )\n"
      "  _arguments -C '1: :->command' '*:: :->rest'\n"
      "  if [[ $state == command ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $line[1] in\n";
  for (const CLI::App* command : commands_of(top)) {
    const std::string inner = names_of(*command);
    out += fmt::format("    {})\n      _arguments{} \\\n        {} ;;\n", command->get_name(),
                       zsh_arguments(*command, top, context),
                       shell_quoted(inner.empty() ? "*:file:_files" : "*:command:(" + inner + ")"));
  }
  return out + "  esac\n}\n_anemone \"$@\"\n";
}

// What `complete` says of the value of a flag. -x: no files.
std::string fish_value(const Flag& flag, const Context& context) {
  if (!flag.has_value()) return "";
  const auto values = values_of(flag, context);
  const std::string out = values.or_file ? " -r" : " -x";
  if (values.words.empty()) return out;
  // fish expands braces to each name with each word.
  const std::string words = values.after_equals.empty()
                                ? joined(values.words)
                                : fmt::format("{{{}}}={{{}}}", joined(values.words, ","),
                                              joined(values.after_equals, ","));
  return out + " -a " + shell_quoted(words);
}

std::string fish_completions(const CLI::App& top, const Context& context) {
  std::string out = "# fish completion of anemone, made by `anemone completions fish`.\n";
  const auto add_flags = [&](const CLI::App& app, const std::string& condition) {
    for (const Flag& flag : flags_of(app)) {
      out += "complete -c anemone";
      if (!condition.empty()) out += " -n " + shell_quoted(condition);
      if (!flag.short_name.empty()) out += " -s " + flag.short_name.substr(1);
      out += fmt::format(" -l {}{} -d {}\n", flag.name.substr(2), fish_value(flag, context),
                         shell_quoted(flag.description));
    }
  };
  add_flags(top, "");
  for (const CLI::App* command : commands_of(top)) {
    out += fmt::format("complete -c anemone -n __fish_use_subcommand -f -a {} -d {}\n",
                       command->get_name(), shell_quoted(one_line(command->get_description())));
    const std::string condition = "__fish_seen_subcommand_from " + command->get_name();
    add_flags(*command, condition);
    for (const CLI::App* inner : commands_of(*command))
      out += fmt::format("complete -c anemone -n {} -f -a {} -d {}\n", shell_quoted(condition),
                         inner->get_name(), shell_quoted(one_line(inner->get_description())));
    for (const CLI::App* inner : commands_of(*command))
      add_flags(*inner, condition + "; and __fish_seen_subcommand_from " + inner->get_name());
  }
  return out;
}

}  // namespace

std::string completions_of(const CLI::App& top, const Context& context, std::string_view shell) {
  if (shell == "bash") return bash_completions(top, context);
  if (shell == "zsh") return zsh_completions(top, context);
  return fish_completions(top, context);
}

}  // namespace anemone::cli

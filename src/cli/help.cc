// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace anemone::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kNameColumns = 24;  // of options and commands, with what follows the name

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

// "name  description", the description wrapped in its column; below the name if that is long.
std::string entry(const std::string& name, std::string_view description) {
  std::string out(kIndent, ' ');
  out += name;
  constexpr std::size_t kColumn = kIndent + kNameColumns + 2;
  if (description.empty()) return out + "\n";
  if (out.size() + 2 > kColumn)
    out.append("\n").append(kColumn, ' ');
  else
    out.append(kColumn - out.size(), ' ');
  return out + wrapped(description, kColumn, kColumn) + "\n";
}

std::string example(std::string_view line, std::size_t columns) {
  if (line.size() <= columns) return std::string(line);
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", begin);
  if (gap != line.npos) {
    const std::string_view command = line.substr(0, gap);
    const std::size_t second = line.find_first_not_of(' ', gap);
    std::string_view words = line.substr(second);
    if (words.starts_with('#') || second > columns / 2) {
      // What a comment says stands before the command that it is about.
      if (words.starts_with('#')) words = words.substr(words.find_first_not_of("# "));
      return std::string(begin, ' ') + "# " + wrapped(words, begin + 2, begin + 2, columns) + "\n" +
             example(command, columns);
    }
    return std::string(line.substr(0, second)) + wrapped(words, second, second, columns);
  }
  // Breaks before the last word that leaves room for " \".
  const std::size_t space = line.rfind(' ', columns - 2);
  if (space == line.npos || space <= begin) return std::string(line);
  return std::string(line.substr(0, space)) + " \\\n" +
         example(std::string(begin + 4, ' ') + std::string(line.substr(space + 1)), columns);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t used,
                    std::size_t columns) {
  std::string out;
  bool is_line_empty = true;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == text.npos) return out;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (!is_line_empty && used + 1 + word.size() > columns) {
      out.append("\n").append(indent, ' ');
      used = indent;
      is_line_empty = true;
    }
    if (!is_line_empty) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    is_line_empty = false;
  }
}

std::string wrapped_footer(std::string_view text, std::size_t columns) {
  std::string out;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped(paragraph, 0, 0, columns) + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : lines_of(text)) {
    if (!line.empty() && line.front() != ' ') {
      paragraph.append(line).append(" ");
      continue;
    }
    end_paragraph();
    out += example(line, columns) + "\n";
  }
  end_paragraph();
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) out.push_back(command);
  return out;
}

OptionText option_text(const CLI::Option& option) {
  OptionText out{"", option.get_description()};
  if (option.get_type_size() == 0 || option.get_items_expected_max() <= 0) return out;
  // The range of numbers stands with the description, where there is room for it.
  const std::string type = option.get_type_name();
  const bool is_number =
      type.starts_with("FLOAT") || type.starts_with("INT") || type.starts_with("UINT");
  out.value = is_number ? "N" : "VALUE";
  if (const std::size_t colon = type.find(':'); colon != type.npos && colon + 1 < type.size())
    out.description += fmt::format(" ({})", type.substr(colon + 1));
  if (!option.get_default_str().empty())
    out.description += fmt::format(" (default: {})", option.get_default_str());
  if (option.get_required()) out.description += " (required)";
  return out;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional);
  if (is_positional) return entry(name, make_option_desc(option));
  const OptionText text = option_text(*option);
  if (!text.value.empty()) name += " " + text.value;
  return entry(name, text.description);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  const std::string text = CLI::Formatter::make_description(app);
  return text.empty() ? text : wrapped(text, 0) + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string out = wrapped_footer(app->get_footer());
  if (app->get_parent() == nullptr) return out;
  const CLI::App* top = app;
  while (top->get_parent() != nullptr) top = top->get_parent();
  std::string names;
  for (const CLI::Option* option : top->get_options()) {
    const std::string name = option->get_name(false, true);
    if (!option->nonpositional() || name.find("--help") != name.npos ||
        name.find("--version") != name.npos)
      continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return out + "\n" + wrapped("Every command also takes " + names + " (see anemone --help).", 0) +
         "\n";
}

}  // namespace anemone::cli

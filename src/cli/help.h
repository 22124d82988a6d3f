// SPDX-License-Identifier: Apache-2.0
// How help looks: in lines of at most 80 columns, with the options that every command takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

inline constexpr std::size_t kHelpColumns = 80;

// Words in lines of at most so many columns; lines after the first begin with `indent` spaces. A
// word that is longer than a line stays whole. `used` columns of the first line are taken already.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t used = 0,
                    std::size_t columns = kHelpColumns);

// A footer in lines of at most so many columns: paragraphs are wrapped; a line that begins with
// spaces is an example, and if it is too long it goes on in the next one, after a backslash, or, if
// there is a wide gap in it, below the words after the gap.
std::string wrapped_footer(std::string_view text, std::size_t columns = kHelpColumns);

// What help says of an option beside its name: the word for its value ("N", "VALUE", empty for a
// flag without one), and its description with range, default and whether it is required.
struct OptionText {
  std::string value;
  std::string description;
};
OptionText option_text(const CLI::Option& option);

// The commands of a command that help lists.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace anemone::cli

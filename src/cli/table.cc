// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <numeric>
#include <unistd.h>
#include <utility>

#include "base/terminal.h"
#include "cli/help.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kColumnGap = 2;  // between two columns

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return longest;
}

// For each column, the largest value that `measure` gives for one of its cells.
template <typename Measure>
std::vector<std::size_t> widths_of(const Rows& rows, const Measure& measure) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], measure(row[i]));
  }
  return widths;
}

std::size_t cell_size(const std::string& cell) {
  return cell.size();
}

// Narrows the widest columns until all fit into `room`. No column becomes narrower than its longest
// word, so that a table may stay too wide.
void narrow(std::vector<std::size_t>& widths, const std::vector<std::size_t>& least,
            std::size_t room) {
  std::size_t total =
      std::accumulate(widths.begin(), widths.end(), kColumnGap * (widths.size() - 1));
  while (total > room) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size()) return;
    // A column that is wider than all the room is cut to it at once, not one by one.
    const std::size_t wanted = std::max(widths[widest] - 1, std::size_t{1});
    const std::size_t narrower = std::max(least[widest], std::min(wanted, room));
    total -= widths[widest] - narrower;
    widths[widest] = narrower;
  }
}

std::vector<std::string> lines_of_cell(const std::string& cell, std::size_t width) {
  std::vector<std::string> out;
  if (cell.size() <= width) return {cell};
  const std::string text = wrapped(cell, 0, 0, width);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::optional<std::size_t> report_columns() {
  constexpr int kFewestColumns = 40;
  const auto columns = terminal_columns(STDOUT_FILENO);
  if (!columns) return std::nullopt;
  return static_cast<std::size_t>(std::max(*columns, kFewestColumns));
}

Rows folded(const Rows& rows, std::size_t columns) {
  std::vector<std::size_t> widths = widths_of(rows, cell_size);
  if (widths.empty()) return rows;
  narrow(widths, widths_of(rows, longest_word), columns);
  Rows out;
  for (const auto& row : rows) {
    const std::size_t first = out.size();
    out.emplace_back(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::vector<std::string> lines = lines_of_cell(row[i], widths[i]);
      for (std::size_t line = 0; line < lines.size(); ++line) {
        if (first + line == out.size()) out.emplace_back(row.size());
        out[first + line][i] = std::move(lines[line]);
      }
    }
  }
  return out;
}

Rows folded_for_terminal(const Rows& rows, std::size_t indent) {
  const auto columns = report_columns();
  return columns ? folded(rows, *columns - std::min(*columns, indent)) : rows;
}

std::string table(const Rows& rows, std::string_view indent) {
  const Rows lines = folded_for_terminal(rows, indent.size());
  const std::vector<std::size_t> widths = widths_of(lines, cell_size);
  std::string out;
  for (const auto& row : lines) {
    out += indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - row[i].size() + kColumnGap, ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string lines_for_terminal(std::string_view text) {
  constexpr std::size_t kFurther = 4;
  const auto columns = report_columns();
  if (!columns) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool has_end = end < text.size();
    text.remove_prefix(has_end ? end + 1 : end);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (line.size() <= *columns)
      out += line;
    else
      out += std::string(indent, ' ') + wrapped(line, indent + kFurther, indent, *columns);
    if (has_end) out += '\n';
  }
  return out;
}

std::string paragraph(std::string_view text, std::size_t indent) {
  constexpr std::size_t kIndentOfOtherLines = 4;
  constexpr std::size_t kMostColumns = 96;
  const std::size_t columns = std::min(report_columns().value_or(kMostColumns), kMostColumns);
  return std::string(indent, ' ') + wrapped(text, kIndentOfOtherLines, indent, columns) + "\n";
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// Tables and paragraphs of reports, which are made to fit the terminal if stdout is one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// The cells of a table, row by row, as text. Rows may have different numbers of cells.
using Rows = std::vector<std::vector<std::string>>;

// The columns of the terminal that stdout is, at least 40; nullopt if it is none. A report that
// goes elsewhere has each row in one line.
std::optional<std::size_t> report_columns();

// Breaks cells into several rows so that the table, with two spaces between its columns, is at most
// `columns` wide. The widest columns are broken first, and only at spaces: a table of long words
// may stay wider.
Rows folded(const Rows& rows, std::size_t columns);
// Folds the rows for the terminal, less `indent` columns; returns them unchanged without a
// terminal.
Rows folded_for_terminal(const Rows& rows, std::size_t indent = 0);

// The text of the rows: folded for the terminal, columns aligned by spaces, each line indented.
std::string table(const Rows& rows, std::string_view indent);

// Breaks the lines that are too long for the terminal; their further lines are indented by four
// more columns. Returns the text unchanged without a terminal.
std::string lines_for_terminal(std::string_view text);

// Breaks a text into lines of at most 96 columns, or of those of the terminal if it has fewer. The
// first line is indented by `indent` spaces, the others by four.
std::string paragraph(std::string_view text, std::size_t indent = 0);

}  // namespace anemone::cli

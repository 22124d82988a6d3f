// SPDX-License-Identifier: Apache-2.0
// Tables and paragraphs of reports, as wide as the terminal where stdout is one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// The cells of a table, row by row. Rows may have different numbers of them; numbers are the
// caller's text.
using Rows = std::vector<std::vector<std::string>>;

// Columns of the terminal behind stdout, at least 40; nullopt where there is none. A report that
// goes elsewhere has its rows whole, a line each.
std::optional<std::size_t> report_columns();

// The rows, with cells that go on below where the table would be wider than so many columns, two
// between its columns: the widest cells are broken first, at spaces alone, so that a table of long
// words may stay wider.
Rows folded(const Rows& rows, std::size_t columns);
// The same for the terminal, beside `indent`; as they are where there is none.
Rows folded_for_terminal(const Rows& rows, std::size_t indent = 0);

// Rows with columns aligned by spaces, each line indented, folded for the terminal.
std::string table(const Rows& rows, std::string_view indent);

// The lines of a text; those that the terminal is too narrow for go on below, four columns further
// in. As it is where there is no terminal.
std::string lines_for_terminal(std::string_view text);

// A text in lines of at most 96 columns, or those of the terminal where it has fewer. The first
// begins after `indent` spaces, the others after four.
std::string paragraph(std::string_view text, std::size_t indent = 0);

}  // namespace anemone::cli

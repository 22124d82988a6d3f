// SPDX-License-Identifier: Apache-2.0
// What a command has to know of the terminal that a person sits at: whether there is one, how wide
// it is, whether it has colours, and how much of a line a text takes; and how text gets there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anemone {

// Writes all of a text, without stdio, whose buffers may hold what others print and which gives up
// when a signal comes. False, with errno, where the descriptor takes no more.
bool write_text(int descriptor, std::string_view text);

// Columns of the terminal behind the descriptor; 80 where a terminal does not say, nullopt where
// there is none. Asks each time, so a window that was resized counts at once.
std::optional<int> terminal_columns(int descriptor);
// The same, but nullopt also where a terminal does not say.
std::optional<int> stated_columns(int descriptor);

// Columns that a text without control characters takes. Characters that some terminals draw twice
// as wide (East Asian ones, pictures) count twice: the answer is never too small.
int columns_of(std::string_view text);

// The beginning of the text, escaped (escape.h), in at most so many columns; where something is
// left out it ends with "...".
std::string fitted(std::string_view text, int columns);

enum class ColorMode { kAuto, kAlways, kNever };
// Whether text has colours: always, never, or (kAuto) where the descriptor is a terminal that has
// them and NO_COLOR is unset or empty (https://no-color.org). Set once, before threads begin.
void set_color_mode(ColorMode mode);
bool has_color(int descriptor);

enum class Style { kBold, kDim, kError, kGood, kAccent };
// The text between the sequences of the style, or as it is where the descriptor has no colours.
std::string styled(std::string_view text, Style style, int descriptor);

}  // namespace anemone

// SPDX-License-Identifier: Apache-2.0
// GPT-2's printable alphabet: each byte has one character (space is U+0120), so that a vocabulary
// of byte strings can be written as JSON text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace anemone::text {

// The byte string that `symbols` spells, or nullopt when a character is outside of the alphabet.
// Appends to `out` on success and leaves it as it was otherwise.
bool append_bytes_of_symbols(std::string_view symbols, std::string& out);
std::optional<std::string> bytes_of_symbols(std::string_view symbols);
std::string symbols_of_bytes(std::string_view bytes);

}  // namespace anemone::text

// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace anemone::text {
namespace {

constexpr int kAlphabetEnd = 0x144;

struct Alphabet {
  std::array<char32_t, 256> symbol{};             // of each byte
  std::array<std::int16_t, kAlphabetEnd> byte{};  // of each symbol, -1: none
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const char32_t symbol = printable ? static_cast<char32_t>(b) : next++;
    alphabet.symbol[static_cast<std::size_t>(b)] = symbol;
    alphabet.byte[symbol] = static_cast<std::int16_t>(b);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

bool append_bytes_of_symbols(std::string_view symbols, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < symbols.size();) {
    const auto first = static_cast<unsigned char>(symbols[i]);
    char32_t value = first;
    if (first < 0x80) {
      ++i;
    } else if (first >= 0xC2 && first < 0xE0 && i + 1 < symbols.size() &&
               (symbols[i + 1] & 0xC0) == 0x80) {
      value = (first & 0x1FU) << 6 | (static_cast<unsigned char>(symbols[i + 1]) & 0x3FU);
      i += 2;
    } else {
      value = kAlphabetEnd;  // three bytes and more are outside of the alphabet, and so is no UTF-8
    }
    if (value >= kAlphabetEnd || kAlphabet.byte[value] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(kAlphabet.byte[value]));
  }
  return true;
}

std::optional<std::string> bytes_of_symbols(std::string_view symbols) {
  std::string bytes;
  if (!append_bytes_of_symbols(symbols, bytes)) return std::nullopt;
  return bytes;
}

std::string symbols_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(kAlphabet.symbol[static_cast<unsigned char>(c)], out);
  return out;
}

}  // namespace anemone::text

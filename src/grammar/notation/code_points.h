// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// A set of Unicode code points. Surrogates, which no text in UTF-8 has, are never in it.
class CodePointSet {
 public:
  static CodePointSet all();

  void add(char32_t low, char32_t high);  // both included; those beyond U+10FFFF are ignored
  void add(const CodePointSet& other);
  CodePointSet inverted() const;
  CodePointSet without(const CodePointSet& other) const;
  bool has(char32_t value) const;
  bool empty() const { return ranges_.empty(); }
  // In order, without touching each other.
  const std::vector<std::pair<char32_t, char32_t>>& ranges() const { return ranges_; }

 private:
  void add_range(char32_t low, char32_t high);

  std::vector<std::pair<char32_t, char32_t>> ranges_;
};

// How the characters of a text are written.
enum class TextForm {
  kPlain,  // as UTF-8
  // As the inside of a JSON string, in one way each: quotation marks, backslashes and control
  // characters by their shortest escapes, all others as UTF-8.
  kJsonString,
  // As UTF-8, without the characters "<": what is written so has no mark like <this> in it.
  kWithoutMarks,
};

// One character of the set.
NodeId one_of(GrammarBuilder& builder, const CodePointSet& set, TextForm form);
// The text, which is valid UTF-8, in that form.
std::string in_form(std::string_view text, TextForm form);

// What a JSON string holds as escapes alone: quotation marks, backslashes and control characters.
CodePointSet escaped_in_json();

}  // namespace anemone::grammar

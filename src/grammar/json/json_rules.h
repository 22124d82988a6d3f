// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton/grammar_builder.h"
#include "grammar/notation/code_points.h"

namespace anemone::grammar {

// Where a JSON text may have white space. Never without a bound: a model could write it forever.
enum class JsonSpacing {
  kCompact,  // at most one space after a colon and a comma
  kFree,     // up to 40 blanks, tabs and line ends between any two parts
};

// A notation for the values of JSON in which texts stand between marks as they are, without
// escapes, and names of members stand alone: {a:<|"|>a text<|"|>,b:[1,true]}. All marks begin with
// "<".
struct TextMarks {
  std::string_view mark;                       // before and behind each text
  std::span<const std::string_view> excluded;  // what no text has in it, beside the mark
};

// A number without bounds of a schema has at most so many digits before the point, and as many
// after it; its exponent has two. So every number is finite. An integer fits in 64 bits.
inline constexpr std::uint64_t kNumberDigits = 20;
inline constexpr std::uint64_t kIntegerDigits = 18;

// The parts of JSON texts (RFC 8259), or of texts of the other notation, as expressions of one
// builder, in UTF-8. Members of an object that a schema does not name may have equal names: no
// grammar of this kind can tell.
class JsonRules {
 public:
  JsonRules(GrammarBuilder& builder, JsonSpacing spacing, std::optional<TextMarks> marks);

  NodeId value();   // of any kind
  NodeId object();  // of any members
  NodeId string();
  NodeId number();
  NodeId integer();
  // One character inside a string, in all its forms; a surrogate pair is one.
  NodeId character();
  NodeId quoted(NodeId inside);
  // How the characters of a part of a string are written that is given by a set of them.
  TextForm form() const;
  // Whether there is a string of this content.
  bool can_hold(std::string_view utf8) const;
  // The string of this content, in one form.
  std::string text(std::string_view utf8) const;
  // The name of a member.
  NodeId name();
  std::string name(std::string_view utf8) const;
  // A name other than these, in one form alone: with more than one form of a character, one of the
  // names could be written in another form. `names` are valid UTF-8.
  NodeId name_other_than(const std::vector<std::string>& names);

  // A bracket, comma or colon with the white space that belongs to it.
  NodeId open(char bracket);
  NodeId close(char bracket);
  NodeId empty_brackets(char open, char close);
  NodeId comma();
  NodeId colon();

 private:
  NodeId space();
  NodeId separator(std::string_view mark);
  bool stands_alone(std::string_view name) const;
  // The characters of a name, and what stands before and behind them.
  NodeId name_character(const CodePointSet& set);
  std::string_view name_quote() const { return marks_ ? "" : "\""; }
  NodeId digits(std::uint64_t least, std::uint64_t most);
  NodeId once(std::optional<RuleId>& rule, std::string_view name, NodeId (JsonRules::*make)());
  NodeId make_value();
  NodeId make_object();
  NodeId make_string();
  NodeId make_character();
  NodeId make_number();
  NodeId make_integer();
  NodeId make_space();
  NodeId make_name_rest();

  GrammarBuilder& builder_;
  const JsonSpacing spacing_;
  const std::optional<TextMarks> marks_;  // none: JSON
  std::optional<RuleId> value_, object_, string_, number_, integer_, space_, name_rest_;
  std::optional<NodeId> character_;
};

}  // namespace anemone::grammar

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
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

// A number without bounds of a schema has at most so many digits before the point, and as many
// after it; its exponent has two. So every number is finite. An integer fits in 64 bits.
inline constexpr std::uint64_t kNumberDigits = 20;
inline constexpr std::uint64_t kIntegerDigits = 18;

// The parts of JSON texts (RFC 8259) as expressions of one builder, in UTF-8. Members of an object
// that a schema does not name may have equal names: no grammar of this kind can tell.
class JsonRules {
 public:
  JsonRules(GrammarBuilder& builder, JsonSpacing spacing);

  NodeId value();   // of any kind
  NodeId object();  // of any members
  NodeId string();
  NodeId number();
  NodeId integer();
  // One character inside a string, in all its forms; a surrogate pair is one.
  NodeId character();
  NodeId quoted(NodeId inside);
  NodeId text(std::string_view utf8);  // a string of this content, in one form
  // A string other than these, in the form of TextForm::kJsonString alone: with more than one form
  // of a character, one of the names could be written in another form. `names` are valid UTF-8.
  NodeId text_other_than(const std::vector<std::string>& names);

  // A bracket, comma or colon with the white space that belongs to it.
  NodeId open(char bracket);
  NodeId close(char bracket);
  NodeId empty_brackets(char open, char close);
  NodeId comma();
  NodeId colon();

 private:
  NodeId space();
  NodeId digits(std::uint64_t least, std::uint64_t most);
  NodeId once(std::optional<RuleId>& rule, std::string_view name, NodeId (JsonRules::*make)());
  NodeId make_value();
  NodeId make_object();
  NodeId make_string();
  NodeId make_character();
  NodeId make_number();
  NodeId make_integer();
  NodeId make_space();
  NodeId make_key_rest();

  GrammarBuilder& builder_;
  const JsonSpacing spacing_;
  std::optional<RuleId> value_, object_, string_, number_, integer_, space_, key_rest_;
  std::optional<NodeId> character_;
};

}  // namespace anemone::grammar

// SPDX-License-Identifier: Apache-2.0
// Regular expressions of ECMA-262 in Unicode mode, as the `pattern` of JSON schema has them:
//   characters, .   escapes \t \n \v \f \r \0 \cX \xHH \uHHHH \u{H} and of punctuation
//   classes [a-z] [^a-z] \d \D \w \W \s \S
//   groups (a) (?:a) (?<name>a), alternatives a|b
//   counts * + ? {n} {n,} {n,m}, with a lazy mark (?) that changes nothing about what matches
//   ^ at the beginning and $ at the end of an alternative that is in no group
// Look-around, back references, \b, \B, \p and other anchors are refused with their position.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string_view>

#include "grammar/automaton/grammar_builder.h"
#include "grammar/notation/code_points.h"

namespace anemone::grammar {

// Texts in which the pattern occurs, as ECMA-262 tests it; with `is_anchored` those that it matches
// from beginning to end. kParseError for a pattern that is none, kUnsupported for what is not
// supported: "[subject] expected ..., got ... (character 17)". `pattern` is UTF-8.
Result<NodeId> regex_node(GrammarBuilder& builder, std::string_view pattern, bool is_anchored,
                          TextForm form, std::string_view subject);

// A grammar of plain text.
Result<std::shared_ptr<const Grammar>> grammar_from_regex(std::string_view pattern,
                                                          bool is_anchored = true);

}  // namespace anemone::grammar

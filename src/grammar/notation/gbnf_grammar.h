// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string_view>

#include "grammar/automaton/grammar.h"

namespace anemone::grammar {

// A grammar in the notation of llama.cpp (grammars/README.md there):
//   root ::= "text" [a-z] rule (a | b)* .    # a comment
// Literals and classes have the escapes \n \r \t \\ \" \[ \] \- \^ \xHH \uHHHH \UHHHHHHHH; counts
// are * + ? {n} {n,} {,m} {n,m}; a dot is any character, line ends included. A line that is not
// inside a group ends its rule, unless it ends with | or ::= or the next one begins with |. The
// text follows the rule `root`. kParseError: "[grammar] expected X, got Y (line 3, column 7)"; else
// as GrammarBuilder::build().
Result<std::shared_ptr<const Grammar>> grammar_from_gbnf(std::string_view source);

}  // namespace anemone::grammar

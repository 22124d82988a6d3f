// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "grammar/automaton/grammar_builder.h"
#include "text/tools/answer_syntax.h"
#include "text/tools/tool_set.h"

namespace anemone::engine {

// The most calls that a grammar lets one answer have: a model that repeats itself has to end.
inline constexpr std::uint64_t kMaxConstrainedCalls = 16;

// Whether calls of this syntax can be constrained.
bool has_call_grammar(text::CallSyntax syntax);

// Whether calls can be constrained in an answer that need not have any
// (AnswerForm::Calls::kStrict). The syntax then needs an opening marker that tells where calls
// begin.
bool can_be_strict(text::CallSyntax syntax);

// One call, or several with `is_parallel` where the syntax has a form for that, from the opening
// marker to the last byte: written as the chat template writes them, with arguments that are valid
// against the schema of the function. A work budget (schema_budget()) keeps the time for all
// schemas together below a second.
Result<grammar::NodeId> calls_of(grammar::GrammarBuilder& builder, text::CallSyntax syntax,
                                 const text::ToolSet& tools, bool is_parallel);

}  // namespace anemone::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>

#include "engine/constraint/answer_form.h"
#include "engine/constraint/response_format.h"
#include "grammar/automaton/grammar.h"
#include "text/tools/answer_syntax.h"

namespace anemone::engine {

// The texts of a format, which is any but kStages. The subject of an error is the kind of the
// format; of an error in a schema, the format's `subject` and the place in the schema:
// "[response_format#/properties/a]
// ...".
Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const ResponseFormat& format);

// Whole answers: reasoning where the model gives some, then content of the format, calls, or either
// of them. The reasoning is free; nothing of the format holds in it. Content before a call that is
// only allowed is free, too, unless there is a format.
//
// kUnsupported where calls are demanded in a syntax without a grammar; else the errors of the
// schemas, "[tools#/properties/a] expected ... (function f)".
Result<std::shared_ptr<const grammar::Grammar>> grammar_of(const AnswerForm& form);

}  // namespace anemone::engine

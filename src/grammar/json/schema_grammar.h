// SPDX-License-Identifier: Apache-2.0
// Grammars of the JSON texts that are valid against a JSON schema (draft 2020-12), or of any JSON.
//
// Every text of the grammar is valid; the grammar restricts how valid texts are written: properties
// in the order of the schema, those that it does not name after them, strings and numbers of an
// enum as they are written shortest. A keyword that cannot be honoured is refused, never ignored;
// annotations (title, description, default, examples, ...) and unknown keywords are ignored.
// docs/structured-generation.md has the table of the keywords.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/work_budget.h"
#include "grammar/automaton/grammar.h"
#include "grammar/json/json_rules.h"

namespace anemone::grammar {

struct JsonGrammarOptions {
  // The notation; none: JSON. With marks the properties come in the order of their names.
  std::optional<TextMarks> marks = std::nullopt;
  JsonSpacing spacing = JsonSpacing::kCompact;
  // An object schema with `properties` and without `additionalProperties` allows no others, as if
  // that were false (OpenAI's strict mode, which demands it). By the standard it allows any.
  bool closes_objects = false;
};

// kParseError for a value of the wrong type, kUnsupported for a keyword that is refused,
// kInvalidArgument for a schema that no text satisfies. The message has the JSON pointer of the
// place: "[schema #/properties/a] expected ..., got ...". Takes less than a second, whatever the
// schema.
Result<std::shared_ptr<const Grammar>> grammar_from_json_schema(
    const Json& schema, const JsonGrammarOptions& options = {});

// For several schemas that one request brings: all of them share a budget of this size.
WorkBudget schema_budget();
// The texts of `part`, a schema whose references are to places of `root`, in which it stands at
// `pointer` ("#/properties/a").
Result<std::shared_ptr<const Grammar>> grammar_from_json_schema(const Json& root, const Json& part,
                                                                const std::string& pointer,
                                                                const JsonGrammarOptions& options,
                                                                WorkBudget& work);

// Any JSON object (the response format json_object).
Result<std::shared_ptr<const Grammar>> grammar_of_json_object(
    const JsonGrammarOptions& options = {});

}  // namespace anemone::grammar

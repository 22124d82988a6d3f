// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "grammar/automaton/grammar_builder.h"
#include "text/tools/schema_types.h"

namespace anemone::engine {

// Grammars of the values of one schema as JSON.
using ValuesOf = std::function<Result<grammar::NodeId>(const Json& schema)>;

// The grammar of a parameter that may be a string. The string is written without quotes and ends at
// `marker`. `schema` stands at `pointer` of the root that `types` reads. The other types that the
// schema allows are written as JSON, for which `values_of` gives the grammar.
//
// nullopt where any text will do, which includes what is written for the other types. kUnsupported
// for a schema that no grammar of such texts follows: one with a pattern, with listed values that
// have the marker in them, or with keywords that restrict the value together (`anyOf` beside
// `maxLength`). Texts of a bounded length are those without "<".
Result<std::optional<grammar::NodeId>> text_values_of(grammar::GrammarBuilder& builder,
                                                      text::SchemaTypes& types, const Json& schema,
                                                      const std::string& pointer,
                                                      std::string_view marker,
                                                      const ValuesOf& values_of);

}  // namespace anemone::engine

// SPDX-License-Identifier: Apache-2.0
// A JSON schema and the choices of a walk along its grammar. Complete texts are JSON, of one of the
// types that the schema allows.
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/grammar_walk.h"
#include "fuzz/support.h"
#include "grammar/json/schema_grammar.h"
#include "text/tools/schema_types.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const auto schema = parse_json(fuzz::part(parts, "schema"), "schema");
  if (!schema.ok()) return 0;
  grammar::JsonGrammarOptions options;
  options.closes_objects = size % 2 == 0;
  if (size % 3 == 0) options.spacing = grammar::JsonSpacing::kFree;
  std::size_t steps = text::SchemaTypes::kMaxSteps;
  const auto types = text::SchemaTypes(*schema, steps).types_of(*schema);
  const auto grammar = grammar::grammar_from_json_schema(*schema, options);
  if (!grammar.ok()) return 0;
  bool is_complete = false;
  const std::string text = fuzz::walk(*grammar, fuzz::part(parts, "choices"), is_complete);
  // Names may be equal, so parse_json() would be too strict.
  if (!is_complete) return 0;
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  ANEMONE_CHECK(!value.is_discarded());
  ANEMONE_CHECK(types.empty() || text::is_of_any_type(value, types));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A JSON schema and the choices of a walk along its grammar. Complete texts are JSON.
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "fuzz/grammar_walk.h"
#include "fuzz/support.h"
#include "grammar/json/schema_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const auto schema = parse_json(fuzz::part(parts, "schema"), "schema");
  if (!schema.ok()) return 0;
  grammar::JsonGrammarOptions options;
  options.closes_objects = size % 2 == 0;
  if (size % 3 == 0) options.spacing = grammar::JsonSpacing::kFree;
  const auto grammar = grammar::grammar_from_json_schema(*schema, options);
  if (!grammar.ok()) return 0;
  bool is_complete = false;
  const std::string text = fuzz::walk(*grammar, fuzz::part(parts, "choices"), is_complete);
  // Names may be equal, so parse_json() would be too strict.
  if (is_complete) ANEMONE_CHECK(Json::accept(text));
  return 0;
}

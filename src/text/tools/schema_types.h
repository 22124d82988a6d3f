// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"

namespace anemone::text {

// The ways that a schema leaves open, in its order.
struct SchemaAlternatives {
  std::vector<const Json*> schemas;  // without alternatives of their own
  // The schemas with anyOf, oneOf, allOf or $ref on the way to them, whose other keywords hold for
  // those after them.
  std::vector<const Json*> around;
  bool is_complete = true;  // false: they are not listed, because they are too many or a cycle
};

// Reads which types a part of a schema allows. Somebody else writes the schema, so all reading with
// one counter of steps is bounded: once they are used up, parts count as unknown. A counter per
// function gives the same answers wherever the function stands.
class SchemaTypes {
 public:
  static constexpr std::size_t kMaxSteps = 100'000;  // of about 10 ns

  // References are to places of `root`. Both outlive the object.
  SchemaTypes(const Json& root, std::size_t& steps_left) : root_(root), steps_left_(steps_left) {}

  // The members of anyOf and oneOf, the only member of allOf, and what $ref names, where a schema
  // says neither its types nor its values itself.
  SchemaAlternatives alternatives_of(const Json& schema);
  // The JSON types ("string", "null", ...) that the schema names, and those of the values that it
  // lists, in all alternatives. Empty where it says nothing, or one of the alternatives does: any.
  std::vector<std::string> types_of(const Json& schema);

 private:
  void add(const Json& schema, int depth, SchemaAlternatives& out);
  const Json* target_of(const Json& reference);
  bool spend(std::size_t steps);

  const Json& root_;
  std::size_t& steps_left_;
};

// The JSON types that a schema names, or else those of the values of its enum or const, each once;
// empty for one that says nothing.
std::vector<std::string> own_types(const Json& schema);

// Whether a value is of a JSON type. 1 is an integer and a number.
bool is_of_type(const Json& value, std::string_view type);
bool is_of_any_type(const Json& value, const std::vector<std::string>& types);

}  // namespace anemone::text

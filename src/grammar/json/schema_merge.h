// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "base/json.h"
#include "base/work_budget.h"

namespace anemone::grammar {

// Schemas without allOf and without $ref beside other keywords: `$ref` and `allOf` are merged into
// the schema that has them.
class SchemaMerger {
 public:
  // References are to places in `root`, which outlives this.
  SchemaMerger(const Json& root, WorkBudget& work) : root_(root), work_(work) {}

  // An object: {} for true, {"enum": []} for false. A schema with nothing but a reference (and
  // annotations) comes back as it is, unless `follows_references`.
  Result<Json> flatten(const Json& schema, const std::string& pointer, bool follows_references);
  // The values that are valid against both of two flat schemas.
  Result<Json> merge(const Json& a, const Json& b, const std::string& pointer);
  // The schema that a reference ("#/$defs/x") is to, and nullptr with an error else.
  Result<const Json*> resolve(const Json& reference, const std::string& pointer);

 private:
  Status merge_keyword(Json& out, const std::string& keyword, const Json& value,
                       const std::string& pointer);
  Status merge_properties(Json& out, const Json& b);

  const Json& root_;
  WorkBudget& work_;
  int depth_ = 0;
};

// What two schemas demand together.
Json both_of(const Json& a, const Json& b);

}  // namespace anemone::grammar

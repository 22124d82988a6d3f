// SPDX-License-Identifier: Apache-2.0
// A validator of JSON schemas that shares nothing with the grammars: the judge of their texts.
#pragma once

#include "base/json.h"

namespace anemone::grammar {

// Knows the keywords that the tests generate. `root` is where references lead.
bool is_valid(const Json& value, const Json& schema, const Json& root);

}  // namespace anemone::grammar

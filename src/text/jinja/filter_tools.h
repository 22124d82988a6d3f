// SPDX-License-Identifier: Apache-2.0
// What the filters over lists share.
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

// value."a.b.0": attributes and indices along a path, as the "attribute" arguments of filters name
// it. A path may also be an integer.
using AttributePath = std::vector<Value>;
Result<AttributePath> parse_path(Interpreter& interpreter, const Value& path);
Result<Value> attribute_path(Interpreter& interpreter, const Value& value,
                             const AttributePath& path);

// The key by which sort, unique, min and max compare a value: its attribute if there is a path, and
// lower case for text unless case counts. The path may be empty.
Result<Value> comparison_key(Interpreter& interpreter, const Value& value,
                             const AttributePath& path, bool case_sensitive);

// The error for a text that has more parts than a list may have items.
Status too_many_parts(Interpreter& interpreter);

// The entries of a dict as tuples.
Result<std::vector<Value>> pairs_of(Interpreter& interpreter, const Dict& dict);

// Sorts items by their keys, equal ones in their order. kInvalidArgument when two keys have no
// order.
Status sort_by_keys(Interpreter& interpreter, std::vector<Value>& items,
                    const std::vector<Value>& keys, bool reverse);

}  // namespace anemone::text::jinja

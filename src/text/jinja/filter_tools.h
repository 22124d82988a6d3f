// SPDX-License-Identifier: Apache-2.0
// What the filters over lists share.
#pragma once

#include <anemone/status.h>

#include <string>
#include <vector>

#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

// value."a.b.0": attributes and indices along a path, as the "attribute" arguments of filters name
// it. `path` may also be an integer.
Result<Value> attribute_path(Interpreter& interpreter, const Value& value, const Value& path);

// The key by which sort, unique, min and max look at a value: its attribute if there is a path, and
// lower case for text unless case counts.
Result<Value> comparison_key(Interpreter& interpreter, const Value& value, const Value* path,
                             bool case_sensitive);

// Sorts items by their keys, equal ones in their order. kInvalidArgument when two keys have no
// order.
Status sort_by_keys(Interpreter& interpreter, std::vector<Value>& items,
                    const std::vector<Value>& keys, bool reverse);

}  // namespace anemone::text::jinja

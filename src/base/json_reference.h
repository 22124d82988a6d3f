// SPDX-License-Identifier: Apache-2.0
// References of JSON schemas to places of their own document: "#/$defs/x".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace anemone {

// Whether a reference is to a place of the document that it stands in: "#" or "#/a/0".
bool is_inner_reference(std::string_view reference);

// The keys that lead from the root of the document to the place of such a reference, which is a
// percent-encoded JSON pointer (RFC 6901, section 6). nullopt if its percent-encoding is broken.
std::optional<std::vector<std::string>> reference_steps(std::string_view reference);

// The member of this name, or the element of this index; null where there is none. Takes time
// linear in the members of an object.
const Json* json_step(const Json& at, const std::string& step);

}  // namespace anemone

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "ir/type.h"

namespace anemone::mlpackage {

namespace wire {
class ValueType;
}

// Types and values nest at most this deep; protobuf's own limit is on messages.
inline constexpr int kMaxTypeDepth = 16;

// kCorrupt for a type that contradicts itself (rank against dimensions), kUnsupported for element
// types, variable ranks and tensor attributes that the IR has no place for. Errors name no place:
// callers do.
Result<ir::Type> decode_type(const wire::ValueType& type, int depth = 0);
void encode_type(const ir::Type& type, wire::ValueType& out);

}  // namespace anemone::mlpackage

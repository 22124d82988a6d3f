// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "ir/literal.h"
#include "mlpackage/blob_cache.h"

namespace anemone::mlpackage {

namespace wire {
class Value;
}

// A constant of the model file. Numbers that lie in a weight file are not copied. Errors name no
// place: callers do.
Result<ir::Literal> decode_value(const wire::Value& value, BlobCache& blobs);

// Offset of the blob that holds a literal; nullopt: the literal goes into the model file itself.
using BlobOffset = std::function<std::optional<std::uint64_t>(const ir::Literal&)>;

Status encode_value(const ir::Literal& literal, const BlobOffset& blob_offset, wire::Value& out);

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

// Every operation that anemone knows. Built once, immutable, thread-safe.
const ir::OpRegistry& op_registry();

}  // namespace anemone::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "mlpackage/model.h"

namespace anemone::mlpackage {

// Whether the description says what the program does, and only what Core ML allows for the
// specification version: functions, names, dtypes, shapes, states, flexible shapes. Core ML's own
// loaders let some of these pass and fail later, so reading and writing both ask here. kCorrupt,
// without a place.
Status check_interface(const Model& model, int specification_version);

}  // namespace anemone::mlpackage

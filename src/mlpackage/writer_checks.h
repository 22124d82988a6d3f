// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "ir/op_schema.h"
#include "mlpackage/model.h"

namespace anemone::mlpackage {

// Everything that must hold before a package is written, `registry` being nullptr when operations
// are not to be looked at. `model` has its final specification version. kCorrupt, without a place.
Status check_before_writing(const Model& model, int specification_version,
                            const ir::OpRegistry* registry);

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "mlpackage/model.h"

namespace anemone::mlpackage {

namespace wire {
class ModelDescription;
}

// The interface part of a model file into `model` (functions, default function, metadata) and back.
// What the features say is checked by check_interface(), not here. Errors name no place: callers
// do.
Status decode_description(const wire::ModelDescription& description, Model& model);
// `metadata` is what to write instead of the model's own.
Status encode_description(const Model& model, const Metadata& metadata,
                          wire::ModelDescription& out);

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
// The interface of a compiled model. Its coremldata.bin has it in a form that Apple does not
// describe; names and types are in the program, too, and metadata.json, which coremlcompiler writes
// for people, has the rest of what a caller has to know about inputs:
//
//   [{"inputSchema": [{"name": "x", "type": "MultiArray", "isOptional": "0", "shape": "[1, 4]",
//                      "shapeRange": "[[1, 1], [1, 8]]"}, ...], ...}]
//
// An enumeration is in enumeratedShapes. An image has width, height, colorspace, and sizeRange or
// enumeratedSizes, width first. All values are strings.
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "mlpackage/model.h"

namespace anemone::mlpackage {

// What the program alone tells: a dimension that it leaves open takes any size from 1.
FunctionInterface interface_of(const ir::Function& function);

// Adds to the inputs of `interface` what a metadata.json says of them: images, shapes, which are
// optional. What it does not know, such as other members and other inputs, is left as it is.
// kParseError or kCorrupt naming `subject`; the result is to be checked (interface_check.h).
Status add_metadata(std::string_view json, std::string_view subject, FunctionInterface& interface);

}  // namespace anemone::mlpackage

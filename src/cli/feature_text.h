// SPDX-License-Identifier: Apache-2.0
// What a package says of its inputs and outputs, as people read it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "mlpackage/model.h"
#include "tensor/shape.h"

namespace anemone::cli {

// The shape of the tensor behind a feature whose description has `shape`: an image, described as
// [height, width], is [1, channels, height, width].
Shape tensor_shape(const mlpackage::FeatureDescription& feature, const Shape& shape);

// "[1, 3, 224, 224]", "[1, 1..128] default [1, 4]", "[1, 4] or [1, 8]": of the tensor.
std::string shape_text(const mlpackage::FeatureDescription& feature);

// "fp16", "dictionary", "image rgb".
std::string type_text(const mlpackage::FeatureDescription& feature);

// "rgb", "bgr", "gray", "gray fp16".
std::string_view color_name(mlpackage::FeatureDescription::ColorSpace color_space);

// The classes of the classifier whose probabilities are the output of this name, in the order of
// the probabilities. Empty where there are none.
std::vector<std::string> class_labels(const ir::Function& function, std::string_view output);

// A line for the shell that runs the function on made-up inputs: "anemone predict m.mlpackage
// --input x=zeros". More than two tensors are filled with --fill.
std::string example_command(const std::string& path, const mlpackage::Model& model,
                            const mlpackage::FunctionInterface& function);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// What `anemone predict` shows of outputs, and its picture files.
#pragma once

#include <anemone/status.h>

#include <string>

#include "cli/inspect.h"
#include "exec/executor.h"
#include "mlpackage/model.h"

namespace anemone::cli {

// Describes each output: its type, its shape, the least, the largest and the mean of its finite
// values, and its first values. The probabilities of a classifier have the most probable classes in
// place of the values. If the package declares the label of the most probable class as an output,
// it comes last. JSON:
//   {"outputs": [{"name", "dtype", "shape", "min", "max", "mean", "not_finite", "values",
//                 "truncated", "classes": [{"label", "probability"}]},
//                {"name", "dtype": "string", "values"}]}
// "min", "max" and "mean" are null if no value is finite. "values" has all values in row-major
// order, or the first 2^20 of them if "truncated" is true.
Report report_outputs(const exec::Outputs& outputs, const ir::Function& function,
                      const mlpackage::FunctionInterface& described);

// What a file for outputs holds.
enum class OutputFile { kTensors, kArray, kPicture };
// The end of the name says it: .safetensors or no ending, .npy, or .png. kInvalidArgument for
// another ending.
Result<OutputFile> output_file(const std::string& path);

// The name of the one output that is an image. kInvalidArgument naming `path` if there is none, or
// if there are several.
Result<std::string> picture_output(const mlpackage::FunctionInterface& function,
                                   const std::string& path);

// The PNG file of an output of the shape [1, channels, height, width]: values are rounded, and
// those outside of 0..255 become the nearest of these.
Result<std::string> picture_bytes(const Tensor& output,
                                  const mlpackage::FeatureDescription& description);

}  // namespace anemone::cli

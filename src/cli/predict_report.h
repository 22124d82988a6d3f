// SPDX-License-Identifier: Apache-2.0
// What `anemone predict` shows of outputs, and its picture files.
#pragma once

#include <anemone/status.h>

#include <string>

#include "cli/inspect.h"
#include "exec/executor.h"
#include "mlpackage/model.h"

namespace anemone::cli {

// The type, the shape, the least, the largest and the mean value and the first values of each
// output; for the probabilities of a classifier, its most probable classes, and last the label of
// the first of them where it is an output of the package that has no tensor. JSON: {"outputs":
// [{"name", "dtype", "shape", "min", "max", "mean", "not_finite", "values", "truncated", "classes":
// [{"label", "probability"}]}, {"name", "dtype": "string", "values"}]}; the first three numbers are
// of the finite values, null where there are none. "values" are all in row-major order, or the
// first 2^20 where "truncated" is true.
Report report_outputs(const exec::Outputs& outputs, const ir::Function& function,
                      const mlpackage::FunctionInterface& described);

// What a file for outputs holds, by how its name ends.
enum class OutputFile { kTensors, kArray, kPicture };
// .safetensors or no ending, .npy, .png. kInvalidArgument for another ending.
Result<OutputFile> output_file(const std::string& path);

// The name of the one output that is an image. kInvalidArgument naming `path` where there is none,
// or several.
Result<std::string> picture_output(const mlpackage::FunctionInterface& function,
                                   const std::string& path);

// The PNG file of an output of the shape [1, channels, height, width]: values are rounded, and
// those outside of 0..255 become the nearest of these.
Result<std::string> picture_bytes(const Tensor& output,
                                  const mlpackage::FeatureDescription& description);

}  // namespace anemone::cli

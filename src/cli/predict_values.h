// SPDX-License-Identifier: Apache-2.0
// The inputs of `anemone predict` that are given one by one, NAME=VALUE.
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"
#include "mlpackage/model.h"

namespace anemone::cli {

struct GivenValue {
  std::string name;
  std::string value;
};

// "x=zeros". kInvalidArgument without a name or a value.
Result<GivenValue> parse_given_value(std::string_view text);

// The values of --input, each for another input. kInvalidArgument as parse_given_value().
Result<std::vector<GivenValue>> given_values(const std::vector<std::string>& texts);

// Adds this value for all inputs that must be given and are neither in `given` nor in `inputs`.
void fill_others(std::string_view fill, const exec::Signature& signature,
                 const exec::Inputs& inputs, std::vector<GivenValue>& given);

// The tensor that a value stands for, of the type and a shape that the input has:
//   zeros, ones, random[:SEED]   in the default shape, or in the shape at the end: ones:1x8
//   1,2,3                        numbers in row-major order
//   FILE.npy                     an array
//   FILE.png, FILE.jpg           a picture, for an image input, in its color order
//   FILE.png:fit, FILE.jpg:fit   its middle, scaled to the default size, blended with white where
//                                it is transparent (values/fit.h)
// Numbers are converted by the rule of values/convert.h. Numbers, and an array that differs in
// dimensions of one alone, take the shape of the input; nothing else is reshaped, and no other
// picture is scaled. `description` is that of the package. kInvalidArgument for values that do not
// fit ("[x] expected shape [1, 4], got [5]"), and the errors of the readers.
Result<Tensor> input_tensor(const GivenValue& given, const exec::Feature& feature,
                            const mlpackage::FeatureDescription& description);

// The same for the input that it names. kInvalidArgument if the function has no such input.
Result<Tensor> named_input_tensor(const GivenValue& given, const exec::Signature& signature,
                                  const mlpackage::FunctionInterface& interface);

// True for zeros, ones or random without a shape, if the input takes other shapes than the default.
bool has_default_shape(const GivenValue& given, const exec::Feature& feature);

// Ok for zeros, ones and random[:SEED], which any input takes; kInvalidArgument for another text.
Status check_fill(std::string_view text);

}  // namespace anemone::cli

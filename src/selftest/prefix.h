// SPDX-License-Identifier: Apache-2.0
// Cuts a function of a package after one of its operations, so that the values that cross the cut
// can be looked at: every later operation depends on those alone.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <string>
#include <vector>

#include "mlpackage/model.h"

namespace anemone::selftest {

// Names an operation of a function.
struct OperationName {
  std::string name;  // of its first output, or its own where it has none
  std::string type;
};

// The operations of a function in order, without constants and what restores them: after each of
// them the function can be cut.
std::vector<OperationName> operations_of(const ir::Function& function);

// The model with this one function, cut after operation `index` of operations_of(). Its outputs
// are the values that cross the cut or that the last operation gives, as far as a package can give
// them out: tensors of fp16, fp32 and int32 with a fixed shape and at least one dimension. Inputs
// and states that nothing reads any more are gone; the function is called "main". The weights stay
// those of `model`. kUnsupported where no value remains to be given out, kNotFound for an unknown
// function.
Result<mlpackage::Model> cut_after(const mlpackage::Model& model, const std::string& function,
                                   std::size_t index);

}  // namespace anemone::selftest

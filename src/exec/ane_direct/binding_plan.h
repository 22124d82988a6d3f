// SPDX-License-Identifier: Apache-2.0
// Which surface belongs to which input and output of a program, and how large it is (runtime.h has
// the rules).
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace anemone::exec::ane_direct {

enum class PortOrder {
  kAlphabetical,  // by the bytes of the names
  kDeclared,      // as the program has them
};

struct BindingOptions {
  PortOrder inputs = PortOrder::kAlphabetical;
  PortOrder outputs = PortOrder::kAlphabetical;
  // All surfaces of the program are as large as its largest: some systems were seen to refuse
  // others (law equal-surfaces).
  bool has_equal_surfaces = false;
};

// One input or output [1, C, H, S] of fp16.
struct Port {
  std::string name;
  std::size_t index = 0;        // among the inputs or outputs of the function
  std::int64_t rows = 0;        // C * H
  std::int64_t columns = 0;     // S
  std::uint64_t row_bytes = 0;  // from one row to the next
  std::uint64_t bytes = 0;      // of the surface
};

struct BindingPlan {
  std::vector<Port> inputs;   // by position in a request
  std::vector<Port> outputs;  // the same
};

// kUnsupported for an input or output that no surface can be made for: not fp16, not four
// dimensions with a first of one, a last axis that is no multiple of kColumnMultiple, more than 1
// GiB, or more than kMostPorts of them.
Result<BindingPlan> plan_bindings(const ir::Function& function, const BindingOptions& options = {});

}  // namespace anemone::exec::ane_direct

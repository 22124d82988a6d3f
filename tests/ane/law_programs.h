// SPDX-License-Identifier: Apache-2.0
// Builds small programs for the tests of the laws (ane/laws_*.cc), and lists what a law finds in
// them.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ane/check.h"
#include "ane/program_walk.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ops/registry.h"
#include "tensor/shape.h"

namespace anemone::ane {

using Found = std::vector<std::string>;
inline const Found kNone;
// Adds inputs and operations, and returns the output.
using Build = std::function<ir::Value*(ir::Builder&)>;

// A tensor of the program whose data nobody reads, so that it may be of any size.
inline ir::Literal unread(DType dtype, const Shape& shape) {
  const auto bytes = dtype_bytes(dtype, static_cast<std::uint64_t>(element_count(shape)));
  return {ir::Type::tensor(dtype, shape), ir::lazy_data(bytes, []() -> Result<Tensor> {
            return internal_error("a law reads a weight");
          })};
}

inline ir::Value* fp16_input(ir::Builder& b, const std::string& name, const Shape& shape) {
  return b.input(name, ir::Type::tensor(DType::kFp16, shape));
}

inline ir::Value* fp16_state(ir::Builder& b, const std::string& name, const Shape& shape) {
  return b.input(name, ir::Type::state(DType::kFp16, shape));
}

// "operation main/y: what was found", for every place that breaks the law.
inline Found findings(std::string_view law, const Package& package) {
  Found out;
  for (const Finding& finding : check(package)) {
    if (finding.law->id != law) continue;
    std::string place(place_kind_name(finding.place.kind));
    if (!finding.place.function.empty()) place += " " + finding.place.function;
    if (!finding.place.name.empty()) place += "/" + finding.place.name;
    out.push_back(place + ": " + finding.found);
  }
  return out;
}

// A program of these functions, each built by itself.
inline ir::Program program_of(const std::vector<std::pair<std::string, Build>>& functions) {
  ir::Program program;
  for (const auto& [name, build] : functions) {
    ir::Builder b(program, ops::op_registry(), name, ir::Opset::kIOS18);
    ir::Value* output = build(b);
    const Status status = b.finish({output});
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return program;
}

inline Found findings(std::string_view law, const Build& build) {
  const ir::Program program = program_of({{"main", build}});
  return findings(law, {program});
}

}  // namespace anemone::ane

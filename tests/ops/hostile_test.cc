// SPDX-License-Identifier: Apache-2.0
// Every case of tests/ops/data with one number or dimension replaced by one that breaks things: the
// rule refuses it or the kernel executes it, and neither overflows, reads outside or runs away.
// Worth most under the sanitizers.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "kernels/kernel.h"
#include "ops/registry.h"
#include "tests/ops/op_call.h"
#include "tests/ops/op_case.h"

namespace anemone::testing {
namespace {

constexpr std::int64_t kNumbers[] = {0, 1, -1, 3, 1000, -2147483648, 2147483647};
constexpr std::int64_t kDimensions[] = {
    0, 1, 7, kDynamic, std::int64_t{1} << 31, std::int64_t{1} << 40};
// What a kernel may be asked for here; the rules allow more than this machine holds.
constexpr std::int64_t kMaxResult = 1 << 16;

std::vector<std::filesystem::path> data_files() {
  std::set<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(ANEMONE_SOURCE_DIR "/tests/ops/data"))
    if (entry.path().extension() == ".json") paths.insert(entry.path());
  return {paths.begin(), paths.end()};
}

bool is_small(const std::vector<ir::Type>& types) {
  for (const ir::Type& type : types)
    if (!type.is_tensor() || !is_static(type.shape) || element_count(type.shape) > kMaxResult)
      return false;
  return true;
}

// The rule, and the kernel if the rule lets the case through and all operands have values.
void try_case(const OpCase& op_case, bool has_values) {
  const ir::OpSchema& schema = *ops::op_registry().find(op_case.op);
  const CaseContext context(op_case, op_case.inputs, schema, {});
  std::vector<ir::Type> types;
  if (!ir::infer_types(schema, context, context.bound_parameters(), types).ok()) return;
  const kernels::Kernel kernel = kernels::find_reference_kernel(op_case.op);
  if (!has_values || kernel == nullptr || op_case.no_kernel || !is_small(types)) return;
  ThreadPool threads(1);
  (void)kernel(CaseCall(op_case.inputs, types, threads));
}

// Calls f with each element of each int32 operand replaced by each number, one at a time.
template <typename F>
void with_numbers(OpCase& op_case, const F& f) {
  for (auto& [parameter, arguments] : op_case.inputs)
    for (Argument& argument : arguments) {
      if (!argument.tensor || argument.tensor->dtype() != DType::kInt32) continue;
      const auto elements = argument.tensor->mutable_view().as<std::int32_t>();
      for (std::size_t i = 0; i < std::min<std::size_t>(elements.size(), 8); ++i) {
        const std::int32_t before = elements[i];
        for (const std::int64_t number : kNumbers) {
          elements[i] = static_cast<std::int32_t>(number);
          f();
        }
        elements[i] = before;
      }
    }
}

// Calls f with each dimension of each operand's type replaced, one at a time; then the values say
// nothing any more.
template <typename F>
void with_dimensions(OpCase& op_case, const F& f) {
  for (auto& [parameter, arguments] : op_case.inputs)
    for (Argument& argument : arguments) {
      if (!argument.type.is_tensor() || argument.type.dtype == DType::kString) continue;
      const Shape before = argument.type.shape;
      auto values = std::move(argument.tensor);
      argument.tensor.reset();
      for (std::size_t i = 0; i <= before.size(); ++i) {
        for (const std::int64_t dimension : kDimensions) {
          Shape& shape = argument.type.shape;
          shape = before;
          if (i < before.size())
            shape[i] = dimension;
          else
            shape.push_back(dimension);
          f();
        }
        argument.type.shape = before;
      }
      argument.tensor = std::move(values);
    }
}

class Hostile : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Hostile, NumbersAndDimensionsAreRefusedOrExecuted) {
  auto cases = read_op_cases(GetParam().string());
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  // Cases of one file differ in their numbers little: some of them try everything.
  const std::size_t step = 1 + cases->size() / 24;
  for (std::size_t i = 0; i < cases->size(); i += step) {
    OpCase& op_case = (*cases)[i];
    if (!op_case.error.empty()) continue;
    with_numbers(op_case, [&] { try_case(op_case, true); });
    with_dimensions(op_case, [&] { try_case(op_case, false); });
  }
}

INSTANTIATE_TEST_SUITE_P(Data, Hostile, ::testing::ValuesIn(data_files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace anemone::testing

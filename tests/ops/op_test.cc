// SPDX-License-Identifier: Apache-2.0
// Runs every case of tests/ops/data/*.json against the schema and the reference kernel of its
// operation.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <set>

#include "kernels/kernel.h"
#include "ops/registry.h"
#include "tests/ops/op_call.h"
#include "tests/ops/op_case.h"

namespace anemone::testing {

// How gtest names a case that failed.
void PrintTo(const std::shared_ptr<const OpCase>& op_case, std::ostream* out) {
  *out << op_case->op << ": " << op_case->name;
}

namespace {

// A file of cases, or the reason why it cannot be read.
struct Loaded {
  std::vector<std::shared_ptr<const OpCase>> cases;
  std::vector<std::string> problems;
};

const Loaded& loaded() {
  static const Loaded all = [] {
    Loaded out;
    std::set<std::filesystem::path> paths;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(ANEMONE_SOURCE_DIR "/tests/ops/data", error)) {
      if (entry.path().extension() == ".json") paths.insert(entry.path());
    }
    if (paths.empty()) out.problems.push_back("no data file in tests/ops/data");
    for (const auto& path : paths) {
      auto cases = read_op_cases(path.string());
      if (!cases.ok()) {
        out.problems.push_back(path.filename().string() + ": " + cases.status().message());
        continue;
      }
      for (OpCase& op_case : *cases)
        out.cases.push_back(std::make_shared<const OpCase>(std::move(op_case)));
    }
    return out;
  }();
  return all;
}

// Half a step of the dtype in the last place is the rounding of the result; the rest is room for
// another order of fp32 sums and another libm.
Tolerance default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return {1e-6, 1.0 / 1024};
    case DType::kBf16:
      return {1e-6, 1.0 / 128};
    case DType::kFp32:
      return {1e-6, 1e-5};
    case DType::kFp64:
      return {1e-12, 1e-12};
    default:
      return {};  // integers and bools are exact
  }
}

bool is_close(double want, double got, Tolerance tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(got - want) <= tolerance.abs + tolerance.rel * std::abs(want);
}

void expect_close(const TensorView& want, const TensorView& got, Tolerance tolerance) {
  int reported = 0;
  for (std::int64_t i = 0; i < want.size() && reported < 5; ++i) {
    if (got.dtype == DType::kBool) {
      ASSERT_LE(std::to_integer<int>(got.data[i]), 1) << "not a bool at " << i;
    }
    const double a = element_as_double(want, i);
    const double b = element_as_double(got, i);
    if (is_close(a, b, tolerance)) continue;
    ++reported;
    ADD_FAILURE() << "element " << i << " of " << to_string(want.shape) << ": want " << a
                  << ", got " << b;
  }
}

Status infer(const ir::OpSchema& schema, const CaseContext& context, std::vector<ir::Type>& types) {
  return ir::infer_types(schema, context, context.bound_parameters(), types);
}

class OpTest : public ::testing::TestWithParam<std::shared_ptr<const OpCase>> {
 protected:
  void expect_types(const CaseContext& context, const char* what) {
    std::vector<ir::Type> types;
    const Status status = infer(*schema_, context, types);
    ASSERT_TRUE(status.ok()) << what << ": " << status.message();
    ASSERT_EQ(types.size(), case_->outputs.size()) << what;
    for (std::size_t i = 0; i < types.size(); ++i)
      EXPECT_EQ(to_string(types[i]), to_string(case_->outputs[i].type)) << what << ", output " << i;
  }

  // Less is known: the types must be compatible with the real ones, or the error a lawful one.
  void expect_compatible(Knowledge knowledge, bool may_fail, const char* what) {
    std::vector<ir::Type> types;
    const Status status =
        infer(*schema_, CaseContext(*case_, case_->inputs, *schema_, knowledge), types);
    if (!status.ok()) {
      EXPECT_TRUE(may_fail) << what << ": " << status.message();
      EXPECT_NE(status.code(), Code::kInternal) << what << ": " << status.message();
      EXPECT_FALSE(status.message().empty());
      return;
    }
    ASSERT_EQ(types.size(), case_->outputs.size()) << what;
    for (std::size_t i = 0; i < types.size(); ++i)
      EXPECT_TRUE(ir::is_compatible(types[i], case_->outputs[i].type))
          << what << ", output " << i << ": got " << to_string(types[i]) << " for "
          << to_string(case_->outputs[i].type);
  }

  // The case only holds for constants: the rule must say so, by its constraint.
  void expect_refused_when_hidden() {
    std::vector<ir::Type> types;
    const Knowledge hidden{.values = false, .dimensions = true};
    const Status status =
        infer(*schema_, CaseContext(*case_, case_->inputs, *schema_, hidden), types);
    ASSERT_FALSE(status.ok()) << "values hidden";
    EXPECT_NE(status.message().find(case_->hidden_error), std::string::npos) << status.message();
  }

  void expect_values(const Arguments& inputs, const char* what) {
    const kernels::Kernel kernel = kernels::find_reference_kernel(case_->op);
    ASSERT_NE(kernel, nullptr) << "no reference kernel of " << case_->op;
    std::vector<ir::Type> types;
    for (const Argument& output : case_->outputs) types.push_back(output.type);
    ThreadPool threads(2);
    const CaseCall call(inputs, types, threads);
    const Status status = kernel(call);
    ASSERT_TRUE(status.ok()) << what << ": " << status.message();
    for (std::size_t i = 0; i < types.size(); ++i) {
      SCOPED_TRACE(std::string(what) + ", output " + std::to_string(i));
      expect_close(case_->outputs[i].tensor->view(), call.output(i),
                   case_->tolerance.value_or(default_tolerance(types[i].dtype)));
    }
  }

  // The message names the broken rule; values that only the kernel sees are its part.
  void expect_error() {
    std::vector<ir::Type> types;
    Status status =
        infer(*schema_, CaseContext(*case_, case_->inputs, *schema_, Knowledge{}), types);
    if (status.ok()) {
      const kernels::Kernel kernel = kernels::find_reference_kernel(case_->op);
      ASSERT_NE(kernel, nullptr) << "the type rule accepts the case and there is no kernel";
      for (const auto& [parameter, arguments] : case_->inputs) {
        for (const Argument& argument : arguments)
          ASSERT_TRUE(argument.tensor || argument.text)
              << "the type rule accepts the case and it has no values: " << parameter;
      }
      ThreadPool threads(2);
      status = kernel(CaseCall(case_->inputs, types, threads));
    }
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.message().find(case_->error), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }

  std::shared_ptr<const OpCase> case_ = GetParam();
  const ir::OpSchema* schema_ = ops::op_registry().find(case_->op);
};

TEST_P(OpTest, Holds) {
  ASSERT_NE(schema_, nullptr) << "no schema of " << case_->op;
  if (!case_->error.empty()) return expect_error();

  expect_types(CaseContext(*case_, case_->inputs, *schema_, {}), "as written");
  if (case_->hidden_error.empty())
    expect_compatible({.values = false, .dimensions = true}, case_->needs_values, "values hidden");
  else
    expect_refused_when_hidden();
  expect_compatible({.values = true, .dimensions = false}, true, "dimensions hidden");
  expect_compatible({.values = false, .dimensions = false}, true, "all hidden");
  if (!case_->no_kernel) expect_values(case_->inputs, "as written");

  auto filled = with_defaults(*schema_, *case_);
  ASSERT_TRUE(filled.ok()) << filled.status().message();
  if (!filled->has_value()) return;
  expect_types(CaseContext(*case_, **filled, *schema_, {}), "defaults spelled out");
  if (!case_->no_kernel && !case_->defaults_differ) expect_values(**filled, "defaults spelled out");
}

std::string test_name(const ::testing::TestParamInfo<std::shared_ptr<const OpCase>>& info) {
  std::string name = info.param->op + "_" + info.param->name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Data, OpTest, ::testing::ValuesIn(loaded().cases), test_name);

TEST(OpData, EveryDataFileIsRead) {
  for (const std::string& problem : loaded().problems) ADD_FAILURE() << problem;
}

TEST(OpData, EveryCaseHasItsOwnName) {
  std::set<std::string> names;
  for (const auto& op_case : loaded().cases)
    EXPECT_TRUE(names.insert(op_case->op + " " + op_case->name).second)
        << op_case->op << " " << op_case->name;
}

TEST(OpData, EveryCaseLiesInTheFileOfItsOperation) {
  for (const auto& op_case : loaded().cases) EXPECT_EQ(op_case->file, op_case->op) << op_case->name;
}

}  // namespace
}  // namespace anemone::testing

// SPDX-License-Identifier: Apache-2.0
// One function through two executors, of which the tested one leaves out what it should give, or
// computes one operation wrongly.
#include "selftest/function_check.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

#include "api/executors.h"
#include "exec/coreml/coreml_executor.h"
#include "tests/exec/coreml/small_package.h"
#include "tests/support/shared_data.h"

namespace anemone::selftest {
namespace {

using anemone::testing::TemporaryFolder;
using exec::coreml::testing::CheckedOptions;
using exec::coreml::testing::CheckedRuntime;
using exec::coreml::testing::halves;
using exec::coreml::testing::write_small_package;

// A program whose functions seem to have no states, or give no outputs.
class Incomplete : public exec::LoadedProgram {
 public:
  Incomplete(std::shared_ptr<const exec::LoadedProgram> whole, bool has_states)
      : whole_(std::move(whole)), has_states_(has_states) {
    for (const std::string& name : whole_->functions()) {
      signatures_[name] = *whole_->signature(name);
      if (!has_states_) signatures_[name].states.clear();
    }
  }
  const std::vector<std::string>& functions() const override { return whole_->functions(); }
  const std::string& default_function() const override { return whole_->default_function(); }
  const exec::Signature* signature(std::string_view function) const override {
    const auto found = signatures_.find(std::string(function));
    return found == signatures_.end() ? nullptr : &found->second;
  }
  Result<std::unique_ptr<exec::StateStore>> make_state() const override {
    return whole_->make_state();
  }
  Status run(std::string_view function, const exec::Inputs& inputs, exec::Outputs& outputs,
             exec::StateStore* states) const override {
    if (has_states_) {
      const Status status = whole_->run(function, inputs, outputs, states);
      outputs.clear();
      return status;
    }
    const auto own = whole_->make_state();
    return own.ok() ? whole_->run(function, inputs, outputs, own->get()) : own.status();
  }

 private:
  std::shared_ptr<const exec::LoadedProgram> whole_;
  bool has_states_;
  std::map<std::string, exec::Signature> signatures_;
};

class IncompleteExecutor : public exec::Executor {
 public:
  IncompleteExecutor(exec::Executor& whole, bool has_states)
      : whole_(whole), has_states_(has_states) {}
  std::string_view name() const override { return "incomplete"; }
  Result<std::shared_ptr<const exec::LoadedProgram>> load(
      const std::string& package, const exec::LoadOptions& options) override {
    auto program = whole_.load(package, options);
    if (!program.ok()) return program.status();
    return std::shared_ptr<const exec::LoadedProgram>(
        std::make_shared<Incomplete>(*std::move(program), has_states_));
  }

 private:
  exec::Executor& whole_;
  bool has_states_;
};

class FunctionCheck : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::unique_ptr<exec::Executor> reference_ =
      std::move(api::make_executor({.threads = 1, .isa = "reference"})).value();
};

InputTensors one_input() {
  InputTensors out;
  out.emplace("x", halves({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  return out;
}

TEST_F(FunctionCheck, WhatTheTestedExecutorDoesNotGiveIsItsError) {
  const std::string package = write_small_package(folder_.file("small.mlpackage"));
  const auto whole = compare({*reference_, *reference_}, package, "decode", one_input());
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole->size(), 2U);  // an output and a state
  for (const auto& [has_states, text] :
       {std::pair(true, "[incomplete] [sum] expected an output, got none"),
        std::pair(false, "[incomplete] expected states, got none")}) {
    IncompleteExecutor tested(*reference_, has_states);
    const auto errors = compare({tested, *reference_}, package, "decode", one_input());
    EXPECT_EQ(errors.status().code(), Code::kDevice);
    EXPECT_EQ(errors.status().message(), text);
  }
}

// y = x where 3 x > 8, else 0: after the comparison nothing is left but bools.
std::string write_comparison(const std::string& path) {
  using exec::coreml::testing::add_interface;
  mlpackage::Model model;
  ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = b.input("x", ir::Type::tensor(DType::kFp16, {1, 2, 3}));
  const auto number = [](double value) { return ir::Literal::number(value, DType::kFp16); };
  ir::Value* scaled = b.op("mul", {{"x", x}, {"y", number(3)}}, "scaled");
  ir::Value* is_large = b.op("greater", {{"x", scaled}, {"y", number(8)}}, "is_large");
  ir::Literal zeros = ir::Literal::of(halves({1, 2, 3}, {0, 0, 0, 0, 0, 0}));
  ir::Value* y = b.op("select", {{"cond", is_large}, {"a", x}, {"b", zeros}}, "y");
  EXPECT_TRUE(b.finish({y}).ok()) << b.status().message();
  add_interface(model, b.function());
  const auto written = mlpackage::write_package(model, path, {.registry = &ops::op_registry()});
  EXPECT_TRUE(written.ok()) << written.status().message();
  return path;
}

TEST_F(FunctionCheck, ACutWithNothingToCompareDoesNotAgree) {
  const std::string package = write_comparison(folder_.file("comparison.mlpackage"));
  CheckedOptions options;
  options.miscompiled["scaled"] = "add";
  const auto tested = exec::coreml::make_coreml_executor(
      std::make_shared<CheckedRuntime>(std::move(options)),
      {.cache_folder = folder_.file("cache"), .falls_back = false});
  const auto first = find_first_difference({*tested, *reference_}, package, "main", one_input(),
                                           0.05, {.scratch = folder_.path()});
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->operation, "scaled");
  EXPECT_EQ((*first)->index, 0U);
  EXPECT_EQ((*first)->count, 3U);
}

}  // namespace
}  // namespace anemone::selftest

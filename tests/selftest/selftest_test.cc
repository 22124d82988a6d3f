// SPDX-License-Identifier: Apache-2.0
// The check of an executor, on executors that are right, that compute one operation wrongly, and
// that refuse one.
#include "selftest/selftest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/executors.h"
#include "artifact/manifest.h"
#include "exec/coreml/compiled_cache.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/cpu/cpu_executor.h"
#include "mlpackage/package_reader.h"
#include "selftest/prefix.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/exec/coreml/small_package.h"
#include "tests/support/shared_data.h"

namespace anemone::selftest {
namespace {

using anemone::testing::TemporaryFolder;
using exec::coreml::testing::CheckedOptions;
using exec::coreml::testing::CheckedRuntime;
using exec::coreml::testing::Fault;

const std::vector<Build> kPortable = {{"portable", "none", false}};

// Runs the check over the double.
class OverDouble : public ::testing::Test {
 protected:
  Result<Results> run_with(CheckedOptions options, std::vector<Build> builds = kPortable) {
    runtime_ = std::make_shared<CheckedRuntime>(std::move(options));
    const auto tested = exec::coreml::make_coreml_executor(
        runtime_,
        {.cache_folder = folder_.file("cache" + std::to_string(++caches_)), .falls_back = false});
    if (fault_) runtime_->inject(*fault_);
    Options with;
    with.builds = std::move(builds);
    with.scratch = folder_.path();
    with.threads = 1;
    with.forget = [this] {
      const std::string cache = folder_.file("cache" + std::to_string(caches_));
      most_compiled_ = std::max(most_compiled_, exec::coreml::list_compiled(cache).size());
      EXPECT_TRUE(exec::coreml::clear_compiled(cache).ok());
      EXPECT_EQ(exec::coreml::list_compiled(cache).size(), 0U);
    };
    auto results = run({*tested, *reference_}, with);
    EXPECT_EQ(runtime_->violations(), std::vector<std::string>());
    return results;
  }
  // The only first difference of decode in a result.
  static FirstDifference first_of_decode(const Results& results) {
    for (const FunctionResult& each : results.builds[0].functions)
      if (each.function == "decode" && each.first) return *each.first;
    ADD_FAILURE() << "no operation of decode is named\n" << report_text(results);
    return {};
  }

  TemporaryFolder folder_;
  int caches_ = 0;                 // a compiler that changes has to compile anew
  std::size_t most_compiled_ = 0;  // packages whose compiled models were there at once
  std::shared_ptr<CheckedRuntime> runtime_;
  std::optional<Fault> fault_;
  std::unique_ptr<exec::Executor> reference_ =
      std::move(api::make_executor({.threads = 1, .isa = "reference"})).value();
};

TEST_F(OverDouble, EveryFormAndKindOfWeightsPasses) {
  const auto results = run_with({}, all_builds(false));
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_TRUE(results->passed()) << report_text(*results);
  ASSERT_EQ(results->builds.size(), 9U);
  for (const BuildResult& each : results->builds) {
    EXPECT_EQ(each.functions.size(), 4U) << each.build.form;  // of the layers and of the head
    EXPECT_GT(each.decode_ms, 0);
  }
  EXPECT_GE(most_compiled_, 2U);  // those of one model: layers, head and perhaps embedding
  EXPECT_LE(most_compiled_, 3U);
  EXPECT_EQ(runtime_->live_models(), 0);
  EXPECT_EQ(runtime_->live_states(), 0);
}

// The names of the operations of decode in the first package, as the compiler gives them.
std::vector<OperationName> operations_of_decode(const std::string& model) {
  const auto package = mlpackage::read_package(model + "/layers_00_01.mlpackage");
  EXPECT_TRUE(package.ok()) << package.status().message();
  if (!package.ok()) return {};
  return operations_of(*package->program.function("decode"));
}

TEST_F(OverDouble, NamesTheOperationThatComputesSomethingElse) {
  ASSERT_TRUE(run_with({}).ok());  // leaves the model in its folder
  int tried = 0;
  const auto operations = operations_of_decode(folder_.file("model"));
  std::size_t last_product = 0;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (operations[i].type == "mul") last_product = i;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    // The first activation of an MLP, and the last product of two values: in both halves of the
    // list.
    const bool is_first = operations[i].type == "silu" && tried == 0;
    const bool is_last = tried == 1 && i == last_product;
    if (!is_first && !is_last) continue;
    ++tried;
    SCOPED_TRACE(operations[i].name);
    CheckedOptions options;
    options.miscompiled[operations[i].name] = is_first ? "tanh" : "add";
    const auto results = run_with(std::move(options));
    ASSERT_TRUE(results.ok()) << results.status().message();
    EXPECT_FALSE(results->passed());
    const FirstDifference first = first_of_decode(*results);
    EXPECT_EQ(first.operation, operations[i].name);
    EXPECT_EQ(first.type, operations[i].type);
    EXPECT_EQ(first.index, i);
    EXPECT_EQ(first.count, operations.size());
    EXPECT_LT(first.error_before, 0.01);
    EXPECT_GT(first.error, kTolerance);
    EXPECT_NE(report_text(*results).find("first at " + operations[i].type), std::string::npos);
  }
  EXPECT_EQ(tried, 2);
  EXPECT_LE(most_compiled_, 3U);  // those of a model and one that is cut
}

TEST_F(OverDouble, MaskedScoresDoNotHideWhatMakesTheScores) {
  ASSERT_TRUE(run_with({}).ok());  // leaves the model in its folder
  const auto operations = operations_of_decode(folder_.file("model"));
  for (const char* name : {"layer_0_attention_q_scaled", "layer_1_attention_q_scaled"}) {
    const auto found = std::ranges::find(operations, name, &OperationName::name);
    ASSERT_NE(found, operations.end()) << name;
    CheckedOptions options;
    options.miscompiled[name] = "add";
    const auto results = run_with(std::move(options));
    ASSERT_TRUE(results.ok()) << results.status().message();
    EXPECT_EQ(first_of_decode(*results).operation, name) << report_text(*results);
  }
}

TEST_F(OverDouble, NamesTheFunctionThatFails) {
  fault_ =
      Fault{.call = Fault::Call::kLoad,
            .error = exec::runtime_error("com.apple.CoreML", 0, "Error code: -14 of the compiler"),
            .times = -1,
            .function = "prefill"};
  const auto results = run_with({});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_FALSE(results->passed());
  const BuildResult& build = results->builds[0];
  EXPECT_NE(build.failure, "");
  for (const FunctionResult& each : build.functions)
    EXPECT_EQ(each.failure.empty(), each.function == "decode") << each.failure;
  const Json json = report_json(*results);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["builds"][0]["functions"][1].contains("error"), true) << json.dump(1);
}

TEST_F(OverDouble, EndsWhenItIsInterrupted) {
  std::atomic<bool> cancel = true;
  Options with;
  with.builds = kPortable;
  with.scratch = folder_.path();
  with.cancel = &cancel;
  EXPECT_EQ(run({*reference_, *reference_}, with).status().code(), Code::kCancelled);
}

TEST(RelativeError, IsThatOfTheNorms) {
  EXPECT_EQ(relative_error(std::vector<float>{3, 4}, std::vector<float>{3, 4}), 0);
  EXPECT_NEAR(relative_error(std::vector<float>{3, 5}, std::vector<float>{3, 4}), 0.2, 1e-12);
  EXPECT_EQ(relative_error(std::vector<float>{}, std::vector<float>{}), 0);
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(relative_error(std::vector<float>{-inf, 1}, std::vector<float>{-inf, 1}), 0);
  for (const auto& [got, expected] :
       {std::pair(std::vector<float>{inf}, std::vector<float>{1}),
        std::pair(std::vector<float>{std::nanf("")}, std::vector<float>{1}),
        std::pair(std::vector<float>{1}, std::vector<float>{0}),
        std::pair(std::vector<float>{1, 2}, std::vector<float>{1})})
    EXPECT_TRUE(std::isinf(relative_error(got, expected)));
}

TEST(RelativeError, LeavesOutScoresThatBothMask) {
  const float masked = artifact::kMaskedScore;
  EXPECT_NEAR(relative_error(std::vector<float>{3, 5, masked}, std::vector<float>{3, 4, masked}),
              0.2, 1e-12);
  EXPECT_EQ(relative_error(std::vector<float>{3, masked + 8}, std::vector<float>{3, masked}), 0);
  // A mask on one side alone is a difference.
  EXPECT_GT(relative_error(std::vector<float>{3, masked}, std::vector<float>{3, 1}), 1);
  EXPECT_GT(relative_error(std::vector<float>{3, 1}, std::vector<float>{3, masked}), 0.9);
}

TEST(CutBehind, GivesWhatCrossesTheCut) {
  const TemporaryFolder folder;
  const std::string path =
      exec::coreml::testing::write_small_package(folder.file("small.mlpackage"), 2);
  const auto whole = mlpackage::read_package(path);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto all = operations_of(*whole->program.function("twice"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "scaled");
  const auto cut = cut_after(*whole, "twice", 0);
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  ASSERT_EQ(cut->functions.size(), 1U);
  ASSERT_EQ(cut->functions[0].outputs.size(), 1U);
  EXPECT_EQ(cut->functions[0].outputs[0].name, "scaled");
  EXPECT_EQ(cut->functions[0].inputs.size(), 1U);
  // Behind the read of a state nothing reads x yet.
  const auto read = cut_after(*whole, "decode", 0);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->functions[0].inputs.empty());
  EXPECT_EQ(read->functions[0].states.size(), 1U);
  EXPECT_EQ(cut_after(*whole, "none", 0).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace anemone::selftest

// SPDX-License-Identifier: Apache-2.0
// Damaged packages through the executable: inspect, check and predict refuse every one of them.
// Programs that are whole but break a rule are shown by inspect, checked by check, and refused by
// inspect --strict and predict.
#include <filesystem>

#include "checkpoint/safetensors.h"
#include "ir/builder.h"
#include "mlpackage/package_writer.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "ops/registry.h"
#include "tests/cli/hostile.h"
#include "tests/cli/interrupted.h"
#include "tests/mlpackage/damaged_package.h"
#include "tests/support/sanitized.h"

namespace anemone::cli {
namespace {

using anemone::testing::TemporaryFolder;
using mlpackage::testing::block_of;
using mlpackage::testing::Damage;
using mlpackage::testing::damaged_package;
using mlpackage::testing::DamagedPackage;
namespace wire = mlpackage::wire;

// What plain_model() takes, so that only the damage stands between the package and its outputs.
std::string good_inputs(const TemporaryFolder& folder) {
  const std::string path = folder.file("in.safetensors");
  const Tensor x(DType::kFp16, {1, 4});
  EXPECT_TRUE(checkpoint::write_safetensors(path, {{"x", x.view()}}).ok());
  return path;
}

Outcome predict(const std::string& package, const TemporaryFolder& folder) {
  const Outcome outcome =
      run_limited({"predict", package, "--inputs", good_inputs(folder), "--outputs",
                   folder.file("out.safetensors"), "--state-out", folder.file("state")});
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"in.safetensors"});
  return outcome;
}

TEST(GoodPackage, IsShownAndRun) {
  const Damage none = {"none", Code::kOk, "", [](DamagedPackage&) {}};
  const auto package = damaged_package(none);
  EXPECT_EQ(run_limited({"inspect", "--strict", package->path()}).code, 0);
  const TemporaryFolder folder;
  const Outcome outcome = run_limited({"predict", package->path(), "--inputs", good_inputs(folder),
                                       "--outputs", folder.file("out.safetensors")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

class HostilePackage : public ::testing::TestWithParam<Damage> {};

TEST_P(HostilePackage, IsRefusedByInspectCheckAndPredict) {
  const auto package = damaged_package(GetParam());
  const TemporaryFolder folder;
  const int code = exit_code(GetParam().code);
  expect_refusal(run_limited({"inspect", package->path()}), code);
  expect_refusal(run_limited({"inspect", "--mil", "--json", package->path()}), code);
  expect_refusal(run_limited({"check", package->path()}), code);
  expect_refusal(predict(package->path(), folder), code);
}

std::string damage_name(const ::testing::TestParamInfo<Damage>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Model, HostilePackage,
                         ::testing::ValuesIn(mlpackage::testing::model_damages()), damage_name);
INSTANTIATE_TEST_SUITE_P(Description, HostilePackage,
                         ::testing::ValuesIn(mlpackage::testing::description_damages()),
                         damage_name);
INSTANTIATE_TEST_SUITE_P(Functions, HostilePackage,
                         ::testing::ValuesIn(mlpackage::testing::function_damages()), damage_name);
INSTANTIATE_TEST_SUITE_P(Files, HostilePackage,
                         ::testing::ValuesIn(mlpackage::testing::blob_damages()), damage_name);

// A change of the program that leaves the container, the description and the blobs alone.
struct Unlawful {
  const char* name;
  void (*edit)(wire::Block& block);
};
void PrintTo(const Unlawful& one, std::ostream* out) {
  *out << one.name;
}

wire::Operation& last_operation(wire::Block& block) {
  return *block.mutable_operations(block.operations_size() - 1);
}
// The first binding of any parameter.
std::string* first_name(wire::Operation& operation) {
  for (auto& input : *operation.mutable_inputs())
    for (auto& binding : *input.mutable_value()->mutable_arguments())
      if (binding.has_name()) return binding.mutable_name();
  ADD_FAILURE() << "no named argument";
  return nullptr;
}

const Unlawful kUnlawful[] = {
    {"undefined_name", [](wire::Block& b) { *first_name(last_operation(b)) = "nowhere"; }},
    {"empty_name", [](wire::Block& b) { first_name(last_operation(b))->clear(); }},
    {"itself",
     [](wire::Block& b) { *first_name(last_operation(b)) = last_operation(b).outputs(0).name(); }},
    {"cycle",
     [](wire::Block& b) {
       b.mutable_operations()->SwapElements(b.operations_size() - 1, b.operations_size() - 3);
     }},
    {"everything_before_its_definition",
     [](wire::Block& b) {
       for (int i = 0; i < b.operations_size() / 2; ++i)
         b.mutable_operations()->SwapElements(i, b.operations_size() - 1 - i);
     }},
    {"value_defined_twice",
     [](wire::Block& b) { *b.add_operations() = wire::Operation(b.operations(1)); }},
    {"unknown_operation", [](wire::Block& b) { last_operation(b).set_type("transmogrify"); }},
    {"operation_without_type", [](wire::Block& b) { last_operation(b).clear_type(); }},
    {"operation_with_controls",
     [](wire::Block& b) { last_operation(b).set_type(std::string("a\n\x1b[31m\x01b")); }},
    {"operation_with_a_long_type",
     [](wire::Block& b) { last_operation(b).set_type(std::string(1'000'000, 'x')); }},
    {"no_parameters", [](wire::Block& b) { last_operation(b).clear_inputs(); }},
    {"unknown_parameter",
     [](wire::Block& b) {
       wire::Operation& last = last_operation(b);
       const auto copy = last.inputs(0);
       *last.add_inputs() = copy;
       last.mutable_inputs(last.inputs_size() - 1)->set_key("zz");
     }},
};

class UnlawfulProgram : public ::testing::TestWithParam<Unlawful> {};

TEST_P(UnlawfulProgram, IsRefusedByStrictInspectAndPredict) {
  DamagedPackage package;
  package.edit_model([](wire::Model& model) { GetParam().edit(block_of(model)); });
  const TemporaryFolder folder;
  const Outcome shown = run_limited({"inspect", package.path()});
  if (shown.code != 0) expect_refusal(shown, 0);
  for (const char c : shown.out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  // What inspect shows, check reads: the state of the sample is narrower than the chip takes.
  const Outcome checked = run_limited({"check", package.path()});
  EXPECT_EQ(checked.code, shown.code == 0 ? 1 : shown.code) << checked.err;
  EXPECT_EQ(checked.out.find("state-width") != std::string::npos, shown.code == 0) << checked.out;
  for (const char c : checked.out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  expect_refusal(run_limited({"inspect", "--strict", package.path()}), 0);
  expect_refusal(predict(package.path(), folder), 0);
}

INSTANTIATE_TEST_SUITE_P(Program, UnlawfulProgram, ::testing::ValuesIn(kUnlawful),
                         [](const auto& info) { return std::string(info.param.name); });

// 137 GB between an input and an output of one number: lawful, and more than there is.
TEST(HugeProgram, IsShownAndRunsOutOfMemoryInOneLine) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer ends the process instead";
  const TemporaryFolder made;
  const std::string package = made.file("huge.mlpackage");
  mlpackage::Model model;
  ir::Builder builder(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = builder.input("x", ir::Type::tensor(DType::kFp16, {1, 4}));
  ir::Value* big = builder.op("fill",
                              {{"shape", ir::Literal::int32s({1 << 20, 1 << 14, 4})},
                               {"value", ir::Literal::number(1, DType::kFp16)}},
                              "big");
  ir::Value* y = builder.op("reduce_sum",
                            {{"x", builder.op("add", {{"x", big}, {"y", x}}, "more")},
                             {"axes", ir::Literal::int32s({0, 1})},
                             {"keep_dims", ir::Literal::boolean(false)}},
                            "y");
  ASSERT_TRUE(builder.finish({y}).ok()) << builder.status().message();
  auto described = mlpackage::describe_function(builder.function());
  ASSERT_TRUE(described.ok()) << described.status().message();
  model.functions = {*described};
  ASSERT_TRUE(mlpackage::write_package(model, package, {.registry = &ops::op_registry()}).ok());
  EXPECT_EQ(run_limited({"inspect", "--strict", package}).code, 0);
  const TemporaryFolder folder;
  expect_refusal(predict(package, folder), kOutOfMemory);
}

}  // namespace
}  // namespace anemone::cli

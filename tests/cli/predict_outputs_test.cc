// SPDX-License-Identifier: Apache-2.0
// What `anemone predict` prints and writes, and what fills inputs that are not named.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/cli/package_fixture.h"
#include "values/npy.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using Floats = std::vector<float>;

struct PredictOutputs : PackageFixture {
  void SetUp() override { write_package_file(); }

  Outcome predict(const std::string& arguments) const {
    return run_anemone("predict " + package + " " + arguments);
  }
  std::string printed(const std::string& arguments) const {
    const Outcome outcome = predict(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out, "");
    return outcome.out;
  }
  static Json json_in(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto json = parse_json(outcome.out, "output");
    EXPECT_TRUE(json.ok()) << outcome.out;
    return json.ok() ? *json : Json();
  }
};

TEST_F(PredictOutputs, PrintsWhereNothingElseIsAsked) {
  const std::string values = "--input x=1,4 --input k=0.5";
  EXPECT_EQ(printed(values), printed(values + " --print"));
  EXPECT_EQ(json_in(predict(values + " --json")), json_in(predict(values + " --print --json")));
  EXPECT_EQ(predict(values + " --outputs " + outputs).out, "");
  EXPECT_EQ(json_in(predict(values + " --json --outputs " + outputs))["outputs"][0]["name"], "y");
  EXPECT_EQ(printed(values + " --explain").find("y  fp16"), std::string::npos);
  EXPECT_EQ(predict(values + " --explain --print --json").code, 2);
  EXPECT_NE(predict("--print").err.find("expected --input NAME=VALUE, --inputs FILE or --fill"),
            std::string::npos);
  EXPECT_EQ(run_anemone("predict --serve --print").code, 2);
  EXPECT_EQ(run_anemone("predict --serve --fill zeros").code, 2);
}

TEST_F(PredictOutputs, FillsInputsThatAreNotNamed) {
  EXPECT_EQ(printed("--input k=3 --fill ones"), printed("--input k=3 --input x=ones"));
  EXPECT_EQ(printed("--fill random:4"), printed("--input k=random:4 --input x=random:4"));
  const Tensor k = tensor(DType::kFp16, {1}, {7});
  ASSERT_TRUE(checkpoint::write_safetensors(inputs, {{"k", k.view()}}).ok());
  EXPECT_EQ(printed("--inputs " + inputs + " --fill zeros"), printed("--input k=7 --input x=0,0"));
  for (const std::string fill : {"twos", "ones:2", "1", "random:x"}) {
    const Outcome refused = predict("--fill " + fill);
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.err,
              "anemone: [--fill] expected zeros, ones or random[:SEED], got " + fill + "\n");
  }
}

TEST_F(PredictOutputs, WritesAnArrayOfNumpy) {
  const std::string array = folder.file("y.npy");
  const Outcome outcome = predict("--input x=1,4 --input k=0.5 --outputs " + array);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto y = values::parse_npy(contents(array), "y.npy");
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ(y->dtype(), DType::kFp16);
  EXPECT_EQ(to_floats(y->view()), (Floats{1.5, 4.5}));
}

TEST_F(PredictOutputs, RefusesOtherEndingsBeforeAnythingRuns) {
  for (const char* name : {"y.jpg", "y.csv", "y.NPY"}) {
    const std::string path = folder.file(name);
    const std::string said =
        run_anemone("predict /nonexistent.mlpackage --fill zeros --outputs " + path).err;
    EXPECT_EQ(said, "anemone: [" + path +
                        "] expected a name that ends with .safetensors, .npy or .png, got " +
                        fs::path(name).extension().string() + "\n");
    EXPECT_FALSE(exists(path));
  }
  const Outcome state =
      predict("--fill zeros --outputs " + outputs + " --state-out " + folder.file("s.npy"));
  EXPECT_EQ(state.code, 2);
  EXPECT_NE(state.err.find("s.npy] expected a name that ends with .safetensors"), std::string::npos)
      << state.err;
  EXPECT_FALSE(exists(outputs));
}

// Two outputs have no place in one array.
TEST_F(PredictOutputs, WritesNoArrayOfSeveralOutputs) {
  mlpackage::Model model;
  ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = b.input("x", ir::Type::tensor(DType::kFp16, {2}));
  ASSERT_TRUE(b.finish({b.op("abs", {{"x", x}}, "y"), b.op("exp", {{"x", x}}, "z")}).ok());
  model.functions = {*mlpackage::describe_function(b.function())};
  const std::string path = folder.file("two.mlpackage");
  ASSERT_TRUE(mlpackage::write_package(model, path, {.registry = &ops::op_registry()}).ok());
  const std::string array = folder.file("y.npy");
  const Outcome outcome = run_anemone("predict " + path + " --fill ones --outputs " + array);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "anemone: [" + array +
                             "] expected a function with one output, got y, z (write a "
                             ".safetensors file)\n");
  EXPECT_FALSE(exists(array));
}

// The limit on file sizes lets the states be written, but not the outputs.
TEST_F(PredictOutputs, KeepsTheStatesOfBeforeWhereTheOutputsCannotBeWritten) {
  constexpr std::int64_t kMany = 8192;
  mlpackage::Model model;
  ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = b.input("x", ir::Type::tensor(DType::kFp16, {kMany}));
  ir::Value* count = b.input("count", ir::Type::state(DType::kFp16, {1}));
  ir::Value* one = b.constant(ir::Literal::of(tensor(DType::kFp16, {1}, {1})), "one");
  ir::Value* next = b.op("add", {{"x", b.read_state(count, "before")}, {"y", one}}, "next");
  b.write_state(count, next, "write");
  ASSERT_TRUE(b.finish({b.op("add", {{"x", x}, {"y", next}}, "y")}).ok()) << b.status().message();
  model.functions = {*mlpackage::describe_function(b.function())};
  const std::string path = folder.file("counter.mlpackage");
  ASSERT_TRUE(mlpackage::write_package(model, path, {.registry = &ops::op_registry()}).ok());
  const std::string state = folder.file("state.safetensors");
  const std::string start = "predict " + path + " --fill zeros --state-out " + state;
  ASSERT_EQ(run_anemone(start).code, 0);
  const std::string before = contents(state);
  for (const std::string& array : {folder.file("y.npy"), outputs}) {
    const Outcome outcome =
        run_in("", "ulimit -f 8; ", start + " --state-in " + state + " --outputs " + array);
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_FALSE(exists(array));
    EXPECT_EQ(contents(state), before);
    // A file of states that was not there before does not appear either.
    const std::string other = folder.file("other.safetensors");
    EXPECT_EQ(
        run_in("", "ulimit -f 8; ",
               "predict " + path + " --fill zeros --state-out " + other + " --outputs " + array)
            .code,
        5);
    EXPECT_FALSE(exists(other));
  }
  EXPECT_EQ(run_anemone(start + " --state-in " + state + " --outputs " + outputs).code, 0);
  EXPECT_EQ(read(state, "count"), Floats{2});
  EXPECT_EQ(read(outputs, "y").front(), 2);
}

// The package takes one to eight indices into a table of four rows, and a mask of as many elements.
TEST_F(PredictOutputs, TakesErrorsOfTheRunForErrorsOfTheValues) {
  mlpackage::Model model;
  ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* ids = b.input("ids", ir::Type::tensor(DType::kInt32, {kDynamic}));
  ir::Value* mask = b.input("mask", ir::Type::tensor(DType::kFp16, {kDynamic}));
  ir::Value* table = b.constant(ir::Literal::of(tensor(DType::kFp16, {4}, {1, 2, 3, 4})), "table");
  ir::Value* rows =
      b.op("gather", {{"x", table}, {"indices", ids}, {"axis", ir::Literal::int32(0)}}, "rows");
  ASSERT_TRUE(b.finish({b.op("mul", {{"x", rows}, {"y", mask}}, "y")}).ok())
      << b.status().message();
  mlpackage::FunctionInterface& described = model.functions.emplace_back();
  described.inputs = {{.name = "ids", .dtype = DType::kInt32, .shape = {2}},
                      {.name = "mask", .dtype = DType::kFp16, .shape = {2}}};
  for (mlpackage::FeatureDescription& input : described.inputs) input.flexibility.ranges = {{1, 8}};
  described.outputs = {{.name = "y", .dtype = DType::kFp16}};
  const std::string path = folder.file("ids.mlpackage");
  const auto written = mlpackage::write_package(model, path, {.registry = &ops::op_registry()});
  ASSERT_TRUE(written.ok()) << written.status().message();
  const std::string predict = "predict " + path;
  EXPECT_EQ(run_anemone(predict + " --input ids=3,1,0 --input mask=ones:3").out,
            "y  fp16 [3]  min 1, max 4, mean 2.33333\n  4 2 1\n");
  const Outcome shapes = run_anemone(predict + " --input ids=3,1,0 --input mask=ones");
  EXPECT_EQ(shapes.code, 2) << shapes.err;
  EXPECT_NE(shapes.err.find("(default shapes: mask [2]; NAME=ones:1x8 gives another)"),
            std::string::npos)
      << shapes.err;
  const Outcome index = run_anemone(predict + " --input ids=1,9 --input mask=ones");
  EXPECT_EQ(index.code, 2) << index.err;
  EXPECT_NE(index.err.find("got 9"), std::string::npos) << index.err;
}

}  // namespace
}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;
using ir::Literal;
using ir::Value;

Found conv(std::string_view law, std::int64_t inputs, std::int64_t outputs, std::int64_t tokens) {
  return findings(law, [&](Builder& b) {
    return b.op("conv",
                {{"x", fp16_input(b, "x", {1, inputs, 1, tokens})},
                 {"weight", b.constant(unread(DType::kFp16, {outputs, inputs, 1, 1}), "weight")}},
                "y");
  });
}

Found linear(std::string_view law, std::int64_t inputs, std::int64_t outputs) {
  return findings(law, [&](Builder& b) {
    return b.op("linear",
                {{"x", fp16_input(b, "x", {2, inputs})},
                 {"weight", b.constant(unread(DType::kFp16, {outputs, inputs}), "weight")},
                 {"bias", unread(DType::kFp16, {outputs})}},
                "y");
  });
}

Found matmul(std::string_view law, const Shape& x, const Shape& y, bool is_transposed) {
  return findings(law, [&](Builder& b) {
    return b.op("matmul",
                {{"x", fp16_input(b, "x", x)},
                 {"y", fp16_input(b, "y", y)},
                 {"transpose_x", Literal::boolean(is_transposed)}},
                "product");
  });
}

TEST(WideOutput, IsAnAxisAbove16384) {
  EXPECT_EQ(conv("wide-output", 64, 16385, 1),
            Found{"operation main/y: conv: an output axis of 16385"});
  EXPECT_EQ(conv("wide-output", 64, 16384, 1), kNone);
  EXPECT_EQ(conv("wide-output", 64, 64, 16385),
            Found{"operation main/y: conv: an output axis of 16385"});
  EXPECT_EQ(conv("wide-output", 16385, 64, 1), kNone);
  EXPECT_EQ(linear("wide-output", 64, 32000),
            Found{"operation main/y: linear: an output axis of 32000"});
  EXPECT_EQ(linear("wide-output", 64, 16384), kNone);
  EXPECT_EQ(matmul("wide-output", {1, 4, 64}, {1, 64, 32768}, false),
            Found{"operation main/product: matmul: an output axis of 32768"});
  EXPECT_EQ(matmul("wide-output", {1, 4, 32768}, {1, 32768, 64}, false), kNone);
}

TEST(WideInput, IsASumOverMoreThan16384) {
  EXPECT_EQ(conv("wide-input", 18944, 64, 1), Found{"operation main/y: conv: 18944 inputs"});
  EXPECT_EQ(conv("wide-input", 16384, 64, 1), kNone);
  EXPECT_EQ(conv("wide-input", 64, 18944, 1), kNone);
  EXPECT_EQ(linear("wide-input", 16385, 64), Found{"operation main/y: linear: 16385 inputs"});
  EXPECT_EQ(linear("wide-input", 16384, 64), kNone);
  EXPECT_EQ(matmul("wide-input", {1, 4, 32768}, {1, 32768, 64}, false),
            Found{"operation main/product: matmul: 32768 inputs"});
  EXPECT_EQ(matmul("wide-input", {1, 32768, 4}, {1, 32768, 64}, true),
            Found{"operation main/product: matmul: 32768 inputs"});
  EXPECT_EQ(matmul("wide-input", {1, 4, 32768}, {1, 4, 64}, true), kNone);
}

TEST(ManyOperations, DoNotCountConstants) {
  const auto chain = [](int length) {
    return findings("many-operations", [&](Builder& b) {
      Value* y = fp16_input(b, "x", {1, 4});
      for (int i = 0; i < length; ++i)
        y = b.op("mul", {{"x", y}, {"y", Literal::number(1, DType::kFp16)}}, "y");
      return y;
    });
  };
  EXPECT_EQ(chain(1501), Found{"function main: 1501 operations"});
  EXPECT_EQ(chain(1500), kNone);
}

Build unary(const char* type) {
  return [type](Builder& b) { return b.op(type, {{"x", fp16_input(b, "x", {1, 64})}}, "y"); };
}

TEST(Softplus, IsFound) {
  EXPECT_EQ(findings("softplus", unary("softplus")), Found{"operation main/y: softplus"});
  EXPECT_EQ(findings("softplus", unary("softsign")), kNone);
}

// A block of a branch is looked into, and an operation stands for each function that has it.
TEST(Softplus, IsFoundInBlocksAndInEveryFunction) {
  ir::Program program = program_of({{"a", unary("softplus")}, {"b", unary("relu")}});
  ir::Op* branch = program.add_op();
  branch->type = "cond";
  ir::Op* inner = program.add_op();
  inner->type = "softplus";
  inner->name = "inner";
  branch->blocks = {program.add_block()};
  branch->blocks.front()->ops = {inner};
  program.function("b")->block->ops.push_back(branch);
  EXPECT_EQ(findings("softplus", Package{program}),
            (Found{"operation a/y: softplus", "operation b/inner: softplus"}));
}

TEST(DepthwiseConv, HasAGroupForEachChannel) {
  const auto with = [](std::int64_t channels, int groups) {
    return findings("depthwise-conv", [&](Builder& b) {
      return b.op("conv",
                  {{"x", fp16_input(b, "x", {1, channels, 1, 64})},
                   {"weight", b.constant(unread(DType::kFp16, {channels, channels / groups, 1, 3}),
                                         "weight")},
                   {"groups", Literal::int32(groups)}},
                  "y");
    });
  };
  EXPECT_EQ(with(64, 64), Found{"operation main/y: 64 groups of one channel"});
  EXPECT_EQ(with(64, 32), kNone);
  EXPECT_EQ(with(64, 1), kNone);
  EXPECT_EQ(with(1, 1), kNone);
}

TEST(LargeSelect, IsMoreThanAPage) {
  const auto with = [](std::int64_t width) {
    return findings("large-select", [&](Builder& b) {
      return b.op("select",
                  {{"cond", b.input("cond", ir::Type::tensor(DType::kBool, {1, width}))},
                   {"a", fp16_input(b, "a", {1, width})},
                   {"b", fp16_input(b, "b", {1, width})}},
                  "y");
    });
  };
  EXPECT_EQ(with(8193), Found{"operation main/y: select of [1, 8193]"});
  EXPECT_EQ(with(8192), kNone);
}

TEST(Argmax, IsFound) {
  const auto with = [](const char* type) {
    return findings("argmax", [&](Builder& b) {
      return b.op(type,
                  {{"x", fp16_input(b, "x", {1, 64})},
                   {"axis", Literal::int32(1)},
                   {"keep_dims", Literal::boolean(true)}},
                  "y");
    });
  };
  EXPECT_EQ(with("reduce_argmax"), Found{"operation main/y: reduce_argmax"});
  EXPECT_EQ(with("reduce_argmin"), kNone);
}

TEST(SliceUpdate, AtARunTimeIndexOfALargeTensor) {
  const auto with = [](std::int64_t rows, bool is_run_time) {
    return findings("slice-update", [&](Builder& b) {
      Value* begin = is_run_time ? b.input("begin", ir::Type::tensor(DType::kInt32, {2}))
                                 : b.constant(Literal::int32s({3, 0}), "begin");
      Value* end = is_run_time ? b.input("end", ir::Type::tensor(DType::kInt32, {2}))
                               : b.constant(Literal::int32s({4, 64}), "end");
      return b.op("slice_update",
                  {{"x", fp16_input(b, "x", {rows, 64})},
                   {"update", fp16_input(b, "update", {1, 64})},
                   {"begin", begin},
                   {"end", end}},
                  "y");
    });
  };
  EXPECT_EQ(with(512, true), Found{"operation main/y: slice_update of [512, 64]"});
  EXPECT_EQ(with(512, false), kNone);
  EXPECT_EQ(with(128, true), kNone);
}

TEST(RunTimeGather, OfALargeTensor) {
  const auto gather = [](std::int64_t rows, bool is_run_time) {
    return findings("run-time-gather", [&](Builder& b) {
      Value* indices = is_run_time ? b.input("i", ir::Type::tensor(DType::kInt32, {2}))
                                   : b.constant(Literal::int32s({1, 2}), "i");
      return b.op("gather", {{"x", fp16_input(b, "x", {rows, 64})}, {"indices", indices}}, "y");
    });
  };
  EXPECT_EQ(gather(512, true), Found{"operation main/y: gather of [512, 64]"});
  EXPECT_EQ(gather(512, false), kNone);
  EXPECT_EQ(gather(128, true), kNone);
  const auto scatter = [](bool is_run_time) {
    return findings("run-time-gather", [&](Builder& b) {
      Value* indices = is_run_time ? b.input("i", ir::Type::tensor(DType::kInt32, {2}))
                                   : b.constant(Literal::int32s({1, 2}), "i");
      return b.op("scatter",
                  {{"data", fp16_input(b, "data", {512, 64})},
                   {"indices", indices},
                   {"updates", fp16_input(b, "updates", {2, 64})}},
                  "y");
    });
  };
  EXPECT_EQ(scatter(true), Found{"operation main/y: scatter of [512, 64]"});
  EXPECT_EQ(scatter(false), kNone);
}

}  // namespace
}  // namespace anemone::ane

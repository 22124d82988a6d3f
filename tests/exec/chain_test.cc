// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise operations against the operations that they stand for.
#include <functional>
#include <limits>
#include <string>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

Literal half_number(double value) {
  return Literal::number(value, DType::kFp16);
}

struct ChainFusion : FusionFixture {
  using Graph = std::function<Value*(Builder&, Value*)>;

  // y = graph(x) with the one input x.
  void build(const Type& type, const Graph& graph) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* y = graph(b, b.input("x", type));
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  void expect_chains(std::size_t count, const Shape& shape, float range, const Graph& graph,
                     double tolerance = kManyRoundings) {
    build(half(shape), graph);
    expect_like_reference(std::vector<std::string>(count, "chain"), {{{"x", random(shape, range)}}},
                          tolerance);
  }
  static Value* two(Builder& b, const char* op, std::variant<Value*, Literal> x,
                    std::variant<Value*, Literal> y) {
    const auto input = [](const char* name, std::variant<Value*, Literal>& v) {
      return std::holds_alternative<Value*>(v) ? Builder::Input{name, std::get<Value*>(v)}
                                               : Builder::Input{name, std::get<Literal>(v)};
    };
    return b.op(op, {input("x", x), input("y", y)});
  }
};

// Each operation on its own rounds where the reference does; `range` keeps e^x finite.
TEST_F(ChainFusion, OperationsOnTheirOwn) {
  struct Case {
    const char* op;
    float range;
    std::vector<Builder::Input> more;
  };
  const std::vector<Case> cases = {
      {"abs", 4, {}},
      {"square", 4, {}},
      {"exp", 4, {}},
      {"relu", 4, {}},
      {"relu6", 8, {}},
      {"sigmoid", 12, {}},
      {"silu", 12, {}},
      {"tanh", 0.01f, {}},
      {"tanh", 4, {}},
      {"erf", 2, {}},
      {"erf", 0.01f, {}},
      {"softplus", 12, {}},
      {"softsign", 4, {}},
      {"gelu", 5, {{"mode", Literal::text("EXACT")}}},
      {"gelu", 5, {{"mode", Literal::text("TANH_APPROXIMATION")}}},
      {"gelu", 5, {{"mode", Literal::text("SIGMOID_APPROXIMATION")}}},
      {"elu", 4, {{"alpha", half_number(1)}}},
      {"leaky_relu", 4, {{"alpha", half_number(0.1)}}},
      {"clip", 4, {{"alpha", half_number(-1)}, {"beta", half_number(2)}}},
      {"threshold", 4, {{"alpha", half_number(-1)}}},
      {"thresholded_relu", 4, {{"alpha", half_number(1)}}},
      {"sigmoid_hard", 4, {{"alpha", half_number(0.2)}, {"beta", half_number(0.5)}}},
      {"inverse", 4, {{"epsilon", half_number(10)}}},
      {"pow", 4, {{"y", half_number(2)}}},
      {"pow", 4, {{"y", half_number(3)}}},
      {"mul", 4, {{"y", half_number(0.3)}}},
      {"add", 4, {{"y", half_number(0.3)}}},
      {"sub", 4, {{"y", half_number(0.3)}}},
      {"real_div", 4, {{"y", half_number(0.3)}}},
      {"maximum", 4, {{"y", half_number(0.3)}}},
      {"minimum", 4, {{"y", half_number(0.3)}}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.op);
    const auto graph = [&](Builder& b, Value* x) {
      std::vector<Builder::Input> inputs = {{"x", x}};
      inputs.insert(inputs.end(), one.more.begin(), one.more.end());
      return b.op(one.op, inputs);
    };
    expect_chains(1, {2, 3, 7}, one.range, graph, kOneRounding);
  }
}

TEST_F(ChainFusion, RootsOfWhatIsPositive) {
  for (const char* op : {"sqrt", "rsqrt"})
    expect_chains(1, {5, 33}, 4, [op](Builder& b, Value* x) {
      return b.op(op, {{"x", two(b, "add", b.op("abs", {{"x", x}}), half_number(0.1))}});
    });
}

// Sizes around vectors, blocks and what one thread takes.
TEST_F(ChainFusion, OfEverySize) {
  for (const std::int64_t size : {1, 15, 16, 511, 513, 8192, 20000})
    expect_chains(1, {size}, 3, [](Builder& b, Value* x) {
      Value* wide = two(b, "mul", x, half_number(1.5));
      Value* gate = b.op("sigmoid", {{"x", wide}});
      Value* flipped = two(b, "sub", half_number(1), gate);
      return two(b, "add", two(b, "mul", gate, wide), two(b, "real_div", flipped, half_number(3)));
    });
}

TEST_F(ChainFusion, OperandsBroadcast) {
  const Shape whole = {2, 6, 5, 7};
  for (const Shape& part :
       {Shape{7}, {5, 7}, {6, 1, 1}, {1, 6, 5, 1}, {2, 1, 1, 1}, {2, 6, 5, 1}, {1, 1, 1, 1}}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half(whole));
    Value* given = b.input("given", half(part));
    Value* y = two(b, "mul", b.op("tanh", {{"x", x}}), given);
    y = two(b, "maximum", random_literal(part), y);
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    expect_like_reference({"chain"}, {{{"x", random(whole, 3)}, {"given", random(part, 3)}}},
                          kManyRoundings);
  }
}

// The operand comes from an operation over fewer elements, which is a chain of its own.
TEST_F(ChainFusion, OneForEachShape) {
  expect_chains(2, {4, 9}, 2, [](Builder& b, Value* x) {
    Value* row = b.op("exp", {{"x", b.op("slice_by_index", {{"x", x},
                                                            {"begin", Literal::int32s({0, 0})},
                                                            {"end", Literal::int32s({1, 9})}})}});
    return two(b, "add", two(b, "mul", x, row), row);
  });
}

TEST_F(ChainFusion, AxesThatAreNoNeighboursAreLeftAlone) {
  program = std::make_shared<Program>();
  Builder b = function();
  Value* x = b.input("x", half({2, 3, 4}));
  Value* y = two(b, "mul", x, random_literal({2, 1, 4}));
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  expect_like_reference({}, {{{"x", random({2, 3, 4})}}}, kOneRounding);
}

// A value that others read is computed, and ends a chain of its own.
TEST_F(ChainFusion, AValueThatIsUsedElsewhereEndsAChain) {
  expect_chains(2, {3, 8}, 2, [](Builder& b, Value* x) {
    Value* shared = b.op("tanh", {{"x", two(b, "mul", x, half_number(2))}});
    Value* turned = b.op("reverse", {{"x", shared}, {"axes", Literal::int32s({1})}});
    return two(b, "sub", b.op("square", {{"x", shared}}), turned);
  });
  program = std::make_shared<Program>();
  Builder b = function();
  Value* inner = b.op("tanh", {{"x", b.input("x", half({3, 8}))}}, "inner");
  Value* y = b.op("square", {{"x", inner}}, "y");
  ASSERT_TRUE(b.finish({y, inner}).ok()) << b.status().message();
  expect_like_reference({"chain", "chain"}, {{{"x", random({3, 8}, 2)}}}, kManyRoundings);
  const Tensor x = random({3, 8});
  EXPECT_EQ(run(*load(), {{"x", x.view()}}, "inner").size(), 24U);
}

// More values at once than there are registers, and more operations than a chain takes.
TEST_F(ChainFusion, LongAndWideOnesAreSplit) {
  const auto wide = [](Builder& b, Value* x) {
    std::vector<Value*> parts;
    for (int i = 0; i < 24; ++i) parts.push_back(two(b, "mul", x, half_number(i % 3 - 1.25)));
    Value* sum = parts.back();
    for (int i = 22; i >= 0; --i)
      sum = two(b, "add", two(b, "maximum", sum, parts[static_cast<std::size_t>(i)]),
                half_number(0.01));
    return sum;
  };
  build(half({100}), wide);
  const auto names = fused(*load());
  EXPECT_GE(names.size(), 2U);
  EXPECT_LE(names.size(), 40U);
  expect_like_reference(names, {{{"x", random({100}, 2)}}}, kManyRoundings);
  build(half({100}), [](Builder& b, Value* x) {
    for (int i = 0; i < 70; ++i) x = two(b, i % 2 == 0 ? "add" : "sub", x, half_number(0.25));
    return x;
  });
  expect_like_reference({"chain", "chain", "chain"}, {{{"x", random({100}, 2)}}}, kManyRoundings);
}

TEST_F(ChainFusion, OtherTypesAreLeftAlone) {
  const auto graph = [](Builder& b, Value* x) {
    return b.op("exp", {{"x", b.op("tanh", {{"x", x}})}});
  };
  build(Type::tensor(DType::kFp32, {4, 4}), graph);
  EXPECT_TRUE(fused(*load()).empty());
  // A sum of equal shapes has a kernel of its own.
  build(half({4, 4}), [](Builder& b, Value* x) { return two(b, "add", x, x); });
  EXPECT_EQ(fused(*load()), std::vector<std::string>{"add"});
}

// What constants alone give is computed when the program is loaded.
TEST_F(ChainFusion, ConstantsAreFolded) {
  expect_chains(1, {3, 5}, 2, [this](Builder& b, Value* x) {
    Value* constant = b.op("tanh", {{"x", b.constant(random_literal({5}, 2), "c")}});
    return two(b, "mul", x, two(b, "mul", constant, half_number(2)));
  });
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->size(), 1U);
}

// The ends of every activation.
TEST_F(ChainFusion, InfinitiesAndNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {infinity, -infinity, std::nanf(""), 0, -0.0f, 60000, -60000};
  for (const char* op : {"exp", "sigmoid", "silu", "tanh", "erf", "softplus", "gelu", "relu",
                         "relu6", "abs", "square", "sqrt", "softsign"}) {
    SCOPED_TRACE(op);
    build(half({7}), [op](Builder& b, Value* x) { return b.op(op, {{"x", x}}); });
    Tensor x(DType::kFp16, {7});
    store_floats(values, x.mutable_view());
    const auto expected = run(*load_as(kernels::simd::Isa::kPlain, true), {{"x", x.view()}}, "y");
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      const auto loaded = load_as(isa, false);
      EXPECT_EQ(fused(*loaded).size(), 1U);
      const auto got = run(*loaded, {{"x", x.view()}}, "y");
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i]))
          EXPECT_TRUE(std::isnan(got[i])) << values[i];
        else
          EXPECT_EQ(got[i], expected[i]) << values[i];
      }
    }
  }
}

TEST_F(ChainFusion, BatchesGiveTheBitsOfSingleRuns) {
  build(half({3, 700}), [](Builder& b, Value* x) {
    Value* active = b.op("gelu", {{"x", x}, {"mode", Literal::text("EXACT")}});
    return two(b, "add", two(b, "mul", active, half_number(0.7)), x);
  });
  std::vector<std::vector<Given>> steps;
  for (int i = 0; i < 5; ++i) steps.push_back({{"x", random({3, 700}, 3)}});
  expect_batches_like_single_runs(steps);
}

}  // namespace
}  // namespace anemone::exec

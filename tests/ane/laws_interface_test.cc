// SPDX-License-Identifier: Apache-2.0
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;
using ir::Value;

// A function with states of these shapes.
Build with_states(std::vector<Shape> shapes, DType dtype = DType::kFp16) {
  return [shapes = std::move(shapes), dtype](Builder& b) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
      b.input("cache_" + std::to_string(i), ir::Type::state(dtype, shapes[i]));
    return b.op("relu", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
  };
}

TEST(StateWidth, MustBeAMultipleOf32) {
  EXPECT_EQ(findings("state-width", with_states({{1, 2, 512, 64}, {1, 2, 512, 40}})),
            Found{"state main/cache_1: a last dimension of 40"});
  EXPECT_EQ(findings("state-width", with_states({{1, 2, 512, 64}, {1, 2, 511, 96}})), kNone);
  // The law asks nothing of inputs.
  EXPECT_EQ(findings("state-width",
                     [](Builder& b) {
                       return b.op("relu", {{"x", fp16_input(b, "x", {1, 40})}}, "y");
                     }),
            kNone);
}

TEST(StateShapes, MustBeTheSameInAllFunctions) {
  const Shape cache{1, 2, 512, 64};
  const Shape tail{1, 1, 64, 32};
  EXPECT_EQ(findings("state-shapes", with_states({cache, tail})),
            Found{"package: [1, 1, 64, 32] of fp16 and [1, 2, 512, 64] of fp16"});
  EXPECT_EQ(findings("state-shapes", with_states({cache, cache})), kNone);
  EXPECT_EQ(findings("state-shapes", with_states({cache, tail, {1, 1, 64, 96}, {1, 1, 64, 64}})),
            Found{"package: [1, 1, 64, 32] of fp16 and [1, 1, 64, 64] of fp16 and 2 more"});
  const ir::Program same = program_of({{"a", with_states({cache})}, {"b", with_states({cache})}});
  EXPECT_EQ(findings("state-shapes", Package{same}), kNone);
  const ir::Program other = program_of({{"a", with_states({cache})}, {"b", with_states({tail})}});
  EXPECT_EQ(findings("state-shapes", Package{other}).size(), 1U);
}

TEST(ManyStates, BeginAtThree) {
  const Shape cache{1, 2, 512, 64};
  EXPECT_EQ(findings("many-states", with_states({cache, cache, cache})),
            Found{"function main: 3 states"});
  EXPECT_EQ(findings("many-states", with_states({cache, cache})), kNone);
}

Found narrow(DType dtype, const Shape& shape) {
  return findings("narrow-axis", [&](Builder& b) {
    Value* x = b.input("x", ir::Type::tensor(dtype, shape));
    return b.op("relu", {{"x", x}}, "y");
  });
}

TEST(NarrowAxis, CountsTheBytesOfThePadding) {
  EXPECT_EQ(narrow(DType::kFp16, {1, 1024, 64, 1}),
            (Found{"input main/x: [1, 1024, 64, 1] of fp16: 131.1 kB, padded to 4.19 MB",
                   "output main/y: [1, 1024, 64, 1] of fp16: 131.1 kB, padded to 4.19 MB"}));
  EXPECT_EQ(narrow(DType::kFp16, {1, 1024, 1, 64}), kNone);
  // 62 bytes of 64 are 2 bytes of padding a row.
  EXPECT_EQ(narrow(DType::kFp16, {1, 16384, 31}).size(), 2U);
  EXPECT_EQ(narrow(DType::kFp16, {1, 8191, 31}), kNone);
  EXPECT_EQ(narrow(DType::kFp16, {1, 16384, 32}), kNone);
  // Sixteen fp32 fill the row.
  EXPECT_EQ(narrow(DType::kFp32, {1, 16384, 16}), kNone);
  EXPECT_EQ(narrow(DType::kFp32, {1, 16384, 8}).size(), 2U);
}

TEST(NarrowAxis, IsNotAskedOfSmallTensors) {
  // 62 bytes of padding in each of 264 rows are less than a page, in 265 they are more.
  EXPECT_EQ(narrow(DType::kFp16, {1, 1, 264, 1}), kNone);
  EXPECT_EQ(narrow(DType::kFp16, {1, 1, 265, 1}).size(), 2U);
}

TEST(NarrowAxis, IsNotAskedOfTheChannelsOfOneToken) {
  EXPECT_EQ(narrow(DType::kFp16, {1, 8192, 1, 1}), kNone);
  EXPECT_EQ(narrow(DType::kFp16, {1, 8193, 1, 1}).size(), 2U);
  EXPECT_EQ(narrow(DType::kFp16, {1, 896, 2, 1}).size(), 2U);
}

Build ranged(bool has_fixed, bool has_state) {
  return [=](Builder& b) {
    Value* y = b.op("relu", {{"x", fp16_input(b, "x", {1, kDynamic})}}, "y");
    if (has_fixed) fp16_input(b, "fixed", {1, 64});
    if (has_state) fp16_state(b, "cache", {1, 64});
    return y;
  };
}

TEST(RangeShapes, AreWhatTheDescriptionSays) {
  const ir::Program program = program_of({{"main", ranged(true, false)}});
  EXPECT_EQ(findings("range-shapes", Package{program, {{"main", "x"}}}),
            Found{"input main/x: a range of shapes"});
  // The same program may take a list of shapes.
  EXPECT_EQ(findings("range-shapes", Package{program}), kNone);
}

TEST(RangeStates, MixFixedInputsAndRanges) {
  const auto mixed = [](bool has_fixed, bool has_state, std::vector<FlexibleInput> ranges) {
    const ir::Program program = program_of({{"main", ranged(has_fixed, has_state)}});
    return findings("range-states", Package{program, std::move(ranges)});
  };
  EXPECT_EQ(mixed(true, true, {{"main", "x"}}),
            Found{"function main: states, fixed inputs and ranges"});
  EXPECT_EQ(mixed(false, true, {{"main", "x"}}), kNone);
  EXPECT_EQ(mixed(true, false, {{"main", "x"}}), kNone);
  EXPECT_EQ(mixed(true, true, {}), kNone);
  EXPECT_EQ(mixed(true, true, {{"other", "x"}}), kNone);
}

TEST(ManyFunctions, BeginAtThree) {
  const Build build = with_states({});
  const ir::Program two = program_of({{"a", build}, {"b", build}});
  EXPECT_EQ(findings("many-functions", Package{two}), kNone);
  const ir::Program three = program_of({{"a", build}, {"b", build}, {"c", build}});
  EXPECT_EQ(findings("many-functions", Package{three}), Found{"package: 3 functions"});
}

TEST(ManyLayers, BeginAtSeventeen) {
  const ir::Program program = program_of({{"main", with_states({})}});
  EXPECT_EQ(findings("many-layers", Package{program, {}, 16}), kNone);
  EXPECT_EQ(findings("many-layers", Package{program, {}, 17}), Found{"package: 17 layers"});
}

TEST(Lists, OfShapesDoNotGoWithStates) {
  const auto with = [](const char* law, bool has_state) {
    const ir::Program program =
        program_of({{"main", [&](Builder& b) {
                       if (has_state)
                         b.input("cache", ir::Type::state(DType::kFp16, {1, 2, 512, 64}));
                       return b.op("relu", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
                     }}});
    return findings(law, Package{.program = program, .lists = {{"main", "x"}}});
  };
  EXPECT_EQ(with("list-states", true), Found{"input main/x: a list of shapes"});
  EXPECT_EQ(with("list-states", false), kNone);
  EXPECT_EQ(with("list-shapes", false), Found{"input main/x: a list of shapes"});
}

// Law 1 of ane-book, chapter 1.
TEST(Rank4, IsAskedOfLargeInputsAndOutputs) {
  const auto with = [](const Shape& shape) {
    return findings("rank-4", [&](Builder& b) {
      return b.op("relu", {{"x", fp16_input(b, "x", shape)}}, "y");
    });
  };
  EXPECT_EQ(with({64, 1024}), (Found{"input main/x: [64, 1024]", "output main/y: [64, 1024]"}));
  EXPECT_EQ(with({1, 1024, 64, 1}), kNone);
  EXPECT_EQ(with({1, 1024, 1, 64}), kNone);
  EXPECT_EQ(with({1, 64}), kNone);
}

// Law 8 of ane-book, chapter 1.
TEST(CarriedCache, IsAnInputThatAProductReads) {
  const auto with = [](bool is_state) {
    return findings("carried-cache", [&](Builder& b) {
      const Shape shape{1, 2, 512, 64};
      Value* past = nullptr;
      if (is_state)
        past = b.op("read_state",
                    {{"input", b.input("keys", ir::Type::state(DType::kFp16, shape))}}, "past");
      else
        past = fp16_input(b, "keys", shape);
      return b.op("matmul",
                  {{"x", fp16_input(b, "q", {1, 2, 1, 64})},
                   {"y", past},
                   {"transpose_y", ir::Literal::boolean(true)}},
                  "scores");
    });
  };
  EXPECT_EQ(with(false), Found{"input main/keys: [1, 2, 512, 64] goes in"});
  EXPECT_EQ(with(true), kNone);
}

}  // namespace
}  // namespace anemone::ane

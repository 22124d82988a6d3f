// SPDX-License-Identifier: Apache-2.0
// Where others saw the operations of a package run, against what is predicted of a program of the
// same form: the placement table of ane-book, chapter 1, and what reports say of single forms.
#include "ane/placement.h"

#include <algorithm>
#include <string>

#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;
using ir::Value;

enum class Stored { kFp16, kInt8, kInt4Blocks, kPalette4 };

// A convolution with a kernel of 1 x 1.
Value* conv(Builder& b, Value* x, Stored stored, std::int64_t outputs, std::int64_t inputs) {
  const Shape shape{outputs, inputs, 1, 1};
  if (stored == Stored::kFp16)
    return b.op("conv", {{"x", x}, {"weight", unread(DType::kFp16, shape)}}, "conv");
  if (stored == Stored::kPalette4) {
    Value* restored =
        b.constexpr_op("constexpr_lut_to_dense",
                       {{"indices", unread(DType::kUInt4, shape)},
                        {"lut", unread(DType::kFp16, {outputs / 32, 1, 1, 1, 16, 1})}},
                       "weight");
    return b.op("conv", {{"x", x}, {"weight", restored}}, "conv");
  }
  const bool is_int8 = stored == Stored::kInt8;
  Value* restored = b.constexpr_op(
      "constexpr_blockwise_shift_scale",
      {{"data", unread(is_int8 ? DType::kInt8 : DType::kInt4, shape)},
       {"scale",
        unread(DType::kFp16, is_int8 ? Shape{1, 1, 1, 1} : Shape{outputs, inputs / 32, 1, 1})}},
      "weight");
  return b.op("conv", {{"x", x}, {"weight", restored}}, "conv");
}

// A row of the table: `convs` square convolutions of `width` channels, and so many other
// operations in all as the table says were on the CPU, or some where none were.
struct Row {
  const char* model;
  Stored stored;
  bool has_states;
  int convs;
  std::int64_t width;
  std::size_t operations;
  bool is_on_chip;
};

Build build_of(const Row& row) {
  return [row](Builder& b) {
    if (row.has_states)
      for (const char* name : {"keys", "values"})
        b.input(name, ir::Type::state(DType::kFp16, {1, 2, 512, 64}));
    Value* x = fp16_input(b, "x", {1, row.width, 1, 64});
    for (int i = 0; i < row.convs; ++i) x = conv(b, x, row.stored, row.width, row.width);
    for (std::size_t i = static_cast<std::size_t>(row.convs); i < row.operations; ++i)
      x = b.op("relu", {{"x", x}}, "rest");
    return x;
  };
}

PlacedFunction placed(const ir::Program& program, std::uint64_t weight_bytes = 0) {
  const Package package{.program = program, .weight_bytes = weight_bytes};
  return place(package, check(package)).front();
}

TEST(PlacementTable, IsReproduced) {
  const Row rows[] = {
      {"Qwen 0.5B, fp16", Stored::kFp16, false, 97, 1600, 3059, true},
      {"Qwen 0.5B, int8", Stored::kInt8, false, 97, 2240, 3059, true},
      {"Qwen 0.5B with states, int4 in blocks", Stored::kInt4Blocks, true, 97, 2240, 3059, true},
      {"Qwen 0.5B, int4 in blocks", Stored::kInt4Blocks, false, 97, 2240, 3059, false},
      {"3 layers of Qwen 1.5B, int4 in blocks", Stored::kInt4Blocks, false, 12, 3584, 66, false},
      {"2 layers of Qwen 3B, int4 in blocks", Stored::kInt4Blocks, true, 8, 4480, 48, false},
      {"2 layers of Qwen 3B, int8", Stored::kInt8, false, 8, 4480, 48, true},
      {"one convolution, int4 in blocks", Stored::kInt4Blocks, false, 1, 2048, 1, false},
      {"ZAYA1 experts, palettes of 4 bits", Stored::kPalette4, false, 36, 2048, 100, true},
      {"Gemma 4 experts, palettes of 4 bits", Stored::kPalette4, false, 16, 2816, 34, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model);
    const ir::Program program = program_of({{"main", build_of(row)}});
    const PlacedFunction function = placed(program);
    EXPECT_EQ(function.products(), static_cast<std::size_t>(row.convs));
    EXPECT_EQ(function.products_on(Device::kNeuralEngine),
              row.is_on_chip ? static_cast<std::size_t>(row.convs) : 0);
    EXPECT_EQ(function.count(Device::kCpu), row.is_on_chip ? 0 : row.operations);
    EXPECT_EQ(function.transitions(), 0U);
  }
}

// What stays beside products that leave, and why, has a law of its own.
TEST(Placement, SaysWhichLawDecides) {
  const ir::Program program =
      program_of({{"main", build_of({"", Stored::kInt4Blocks, false, 2, 2048, 3, false})}});
  const PlacedFunction function = placed(program);
  ASSERT_EQ(function.operations.size(), 3U);
  EXPECT_EQ(function.operations[0].law->id, "block-scales");
  EXPECT_EQ(function.operations[2].law->id, "no-products-left");
  const ir::Program resident =
      program_of({{"main", build_of({"", Stored::kInt4Blocks, true, 97, 2048, 98, true})}});
  EXPECT_EQ(placed(resident).operations[0].law->id, "block-scales-with-states");
  EXPECT_EQ(placed(resident).operations[97].law, nullptr);
}

// 20 layers of Phi-4-mini are on the chip, 24 are not.
TEST(Placement, OfAPackageAbove2GigabytesIsTheCpu) {
  const Row row{"", Stored::kInt8, true, 4, 4096, 10, true};
  const ir::Program program = program_of({{"main", build_of(row)}});
  EXPECT_EQ(placed(program, 2'016'000'000).count(Device::kCpu), 0U);
  const PlacedFunction function = placed(program, 2'300'000'000);
  EXPECT_EQ(function.count(Device::kCpu), 10U);
  EXPECT_EQ(function.operations[0].law->id, "package-bytes");
}

// MicroGPT has 0.03 MB; experts of the privacy filter have 2.4 MB and are on the chip.
TEST(Placement, OfATinyFunctionIsTheCpu) {
  const auto on_cpu = [](std::int64_t width) {
    const ir::Program program =
        program_of({{"main", build_of({"", Stored::kFp16, false, 1, width, 2, true})}});
    return placed(program).count(Device::kCpu);
  };
  EXPECT_EQ(on_cpu(64), 2U);
  EXPECT_EQ(on_cpu(1096), 0U);
}

// A convolution, one with a group for each channel, which leaves the chip, and another one.
ir::Program program_of_taps() {
  return program_of({{"main", [](Builder& b) {
                        Value* x = fp16_input(b, "x", {1, 2048, 1, 64});
                        Value* first = conv(b, x, Stored::kFp16, 2048, 2048);
                        Value* taps = b.op("conv",
                                           {{"x", first},
                                            {"weight", unread(DType::kFp16, {2048, 1, 1, 3})},
                                            {"groups", ir::Literal::int32(2048)},
                                            {"pad_type", ir::Literal::text("same")}},
                                           "taps");
                        return conv(b, taps, Stored::kFp16, 2048, 2048);
                      }}});
}

TEST(Placement, CountsTransitions) {
  const ir::Program program = program_of_taps();
  const PlacedFunction function = placed(program);
  EXPECT_EQ(function.count(Device::kCpu), 1U);
  EXPECT_EQ(function.transitions(), 2U);
  EXPECT_EQ(function.products_on(Device::kNeuralEngine), 2U);
}

// In a stranger's file several operations may have one name, or none: what is found of one of them
// is of no other one.
TEST(Placement, TellsOperationsOfOneNameApart) {
  for (const std::string name : {"conv", ""}) {
    SCOPED_TRACE(name);
    ir::Program program = program_of_taps();
    for (ir::Op* op : program.functions().front()->block->ops)
      if (op->type == "conv") op->name = name;
    const Package package{.program = program, .weight_bytes = 0};
    const std::vector<Finding> findings = check(package);
    const auto found = std::ranges::find(findings, find_law("depthwise-conv"), &Finding::law);
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->place.name, name);
    const PlacedFunction function = place(package, findings).front();
    ASSERT_EQ(function.operations.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(function.operations[i].name, name);
      EXPECT_EQ(function.operations[i].device, i == 1 ? Device::kCpu : Device::kNeuralEngine) << i;
    }
    EXPECT_EQ(found->place.operation, function.operations[1].index);
  }
}

// What a chip has a form for depends on its generation.
TEST(Placement, FollowsTheChip) {
  const ir::Program program = program_of({{"main", [](Builder& b) {
                                             Value* x = fp16_input(b, "x", {1, 2048, 1, 1});
                                             return conv(b, x, Stored::kFp16, 50'016, 2048);
                                           }}});
  const auto on_cpu = [&](const char* chip) {
    const Package package{.program = program};
    return place(package, check(package, {.chip = *parse_chip(chip)})).front().count(Device::kCpu);
  };
  EXPECT_EQ(on_cpu("m1"), 1U);
  EXPECT_EQ(on_cpu("M2 Pro"), 1U);
  EXPECT_EQ(on_cpu("m4max"), 0U);
  EXPECT_FALSE(parse_chip("m9").ok());
}

TEST(Sums, CountBytesAndMultiplications) {
  const ir::Program program =
      program_of({{"main", build_of({"", Stored::kInt8, true, 2, 2048, 3, true})}});
  const PlacedFunction function = placed(program);
  constexpr std::uint64_t kMatrix = 2048ULL * 2048;
  EXPECT_EQ(function.multiplications(), 2 * kMatrix * 64);
  EXPECT_EQ(function.operations[0].multiplications, kMatrix * 64);
  EXPECT_EQ(function.operations[0].weight_bytes, kMatrix);
  EXPECT_EQ(function.weight_bytes, 2 * kMatrix);
  EXPECT_EQ(function.interface_bytes, 2U * 2048 * 64 * 2);
  EXPECT_EQ(function.state_bytes, 2U * 2 * 512 * 64 * 2);
}

// A constant that two functions and two operations read counts once in each function and once in
// the package, in place or not.
TEST(Sums, CountSharedConstantsOnce) {
  const ir::Literal shared = unread(DType::kFp16, {1096, 1096, 1, 1});
  const auto twice = [&](Builder& b) {
    Value* x = fp16_input(b, "x", {1, 1096, 1, 64});
    for (int i = 0; i < 2; ++i) x = b.op("conv", {{"x", x}, {"weight", shared}}, "conv");
    return x;
  };
  const ir::Program program = program_of({{"decode", twice}, {"prefill", twice}});
  const Package package{.program = program};
  constexpr std::uint64_t kBytes = 1096ULL * 1096 * 2;
  EXPECT_EQ(package.survey.weight_bytes, kBytes);
  EXPECT_EQ(package.weight_bytes, kBytes);
  for (const PlacedFunction& function : place(package, check(package))) {
    EXPECT_EQ(function.weight_bytes, kBytes);
    for (const PlacedOperation& each : function.operations) EXPECT_EQ(each.weight_bytes, kBytes);
  }
  // The law of small packages and that of tiny functions look at the same sums.
  EXPECT_EQ(findings("small-package", package), Found{"package: 2.40 MB of weights"});
  EXPECT_EQ(findings("tiny-function", package), kNone);
}

// 494 MB of int8 at the 64 GB/s of an M4 take 7.7 ms: the bound of 130 tokens per second of the
// evidence page.
TEST(Estimates, AreBoundByBytesOrMultiplications) {
  PlacedFunction decode;
  decode.weight_bytes = 494'000'000;
  decode.operations = {
      {"conv", "conv", true, Device::kNeuralEngine, nullptr, 494'000'000, 494'000'000}};
  const Estimate step = estimate(decode, default_chip());
  EXPECT_TRUE(step.is_bound_by_bytes);
  EXPECT_NEAR(step.seconds, 494e6 / 64e9 + kDispatchSeconds, 1e-9);
  PlacedFunction prefill = decode;
  prefill.operations[0].multiplications *= 512;
  EXPECT_FALSE(estimate(prefill, default_chip()).is_bound_by_bytes);
  EXPECT_LT(estimate(decode, **parse_chip("m4-max")).seconds, step.seconds);
}

TEST(Chips, HaveSourcesAndAnOrder) {
  int generation = kOldestGeneration;
  for (const Chip& chip : chips()) {
    EXPECT_GE(chip.generation, generation);
    generation = chip.generation;
    EXPECT_GT(chip.gigabytes_per_second, 0);
    EXPECT_GT(chip.teramacs_per_second, 0);
    EXPECT_FALSE(chip.bandwidth_source.empty());
    EXPECT_FALSE(chip.rate_source.empty());
    EXPECT_EQ(*parse_chip(chip.id), &chip);
    EXPECT_EQ(*parse_chip(chip.name), &chip);
  }
  EXPECT_EQ(generation, kNewestGeneration);
}

// Every chip of a Mac or phone that has the generations of the laws.
TEST(Chips, HaveTheirProMaxAndUltraForms) {
  for (const char* id : {"a17-pro", "a18-pro", "a19-pro", "m1-ultra", "m2-ultra", "m3-ultra",
                         "m4-max", "m5-pro", "m5-max"})
    EXPECT_TRUE(parse_chip(id).ok()) << id;
  // Phones first, whatever their generation.
  EXPECT_NE(parse_chip("m9").status().message().find("a19-pro, m1, m1-pro, m1-max, m1-ultra, m2"),
            std::string::npos)
      << parse_chip("m9").status().message();
}

}  // namespace
}  // namespace anemone::ane

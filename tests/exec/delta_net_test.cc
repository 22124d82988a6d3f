// SPDX-License-Identifier: Apache-2.0
// Gated delta nets as one operation, against the operations that they stand for: to the bit, on
// every instruction set of this machine.
#include <array>
#include <optional>
#include <string>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

// How a program differs from the one that the models of this project have.
enum class Change {
  kNone,
  kOperandsSwapped,     // of all that have no order
  kStateIsRead,         // the state between two tokens is an output
  kStateIsReadAgain,    // and so is the state of before, by another read
  kOtherStateIsKept,    // the state of before the last token
  kDecayOfEachKey,      // in place of one of a head
  kValuesForAllHeads,   // broadcast
  kReadsReversed,       // the last token first
  kStateIsTransposed,   // read with its columns as keys
  kValuesFromOneToken,  // of all tokens alike
};

struct DeltaNet : FusionFixture {
  struct Sizes {
    Shape heads = {2, 3};  // [A, B]
    Shape keys = {2, 1};   // of queries and keys
    std::int64_t tokens = 1;
    std::int64_t key_dim = 14;
    std::int64_t value_dim = 10;
  };

  static Shape with(const Shape& heads, std::int64_t tokens, std::int64_t size) {
    return {heads[0], heads[1], tokens, size};
  }

  void build(const Sizes& sizes, Change change = Change::kNone) {
    sizes_ = sizes;
    change_ = change;
    program = std::make_shared<Program>();
    Builder b = function();
    const auto each = [&](const char* name) {
      Value* x = b.input(name, half(shape_of(name)));
      if (sizes.tokens == 1) return std::vector<Value*>{x};
      return b.ops("split",
                   {{"x", x},
                    {"num_splits", Literal::int32(static_cast<std::int32_t>(sizes.tokens))},
                    {"axis", Literal::int32(2)}},
                   static_cast<std::size_t>(sizes.tokens));
    };
    const auto q = each("q");
    const auto k = each("k");
    const auto v = each("v");
    const auto strength = each("strength");
    const auto decay = each("decay");
    Value* stored =
        b.input("s", Type::state(DType::kFp16, with(sizes.heads, sizes.key_dim, sizes.value_dim)));
    Value* state = b.read_state(stored, "before");
    std::vector<Value*> more;  // outputs
    if (change == Change::kStateIsReadAgain) more.push_back(relu(b, b.read_state(stored, "again")));
    std::vector<Value*> reads;
    Value* kept = nullptr;
    for (std::size_t t = 0; t < q.size(); ++t) {
      if (change == Change::kOtherStateIsKept) kept = state;
      Value* value = v[change == Change::kValuesFromOneToken ? 0 : t];
      state = step(b, state, q[t], k[t], value, strength[t], decay[t], reads);
      if (change == Change::kStateIsRead && t == 0) more.push_back(relu(b, state));
    }
    b.write_state(stored, kept == nullptr ? state : kept, "write");
    if (change == Change::kReadsReversed) std::swap(reads.front(), reads.back());
    Value* y = reads.front();
    if (reads.size() > 1)
      y = b.op("concat", {{"values", reads},
                          {"axis", Literal::int32(2)},
                          {"interleave", Literal::boolean(false)}});
    b.rename(y, "y");
    std::vector<Value*> outputs = {y};
    outputs.insert(outputs.end(), more.begin(), more.end());
    ASSERT_TRUE(b.finish(outputs).ok()) << b.status().message();
  }

  static Value* relu(Builder& b, Value* x) { return b.op("relu", {{"x", x}}); }

  Value* two(Builder& b, const char* op, Value* x, Value* y) const {
    if (change_ == Change::kOperandsSwapped && op != std::string("sub")) std::swap(x, y);
    return b.op(op, {{"x", x}, {"y", y}});
  }
  Value* product(Builder& b, Value* x, Value* y) const {
    return b.op("matmul",
                {{"x", x},
                 {"y", y},
                 {"transpose_x", Literal::boolean(false)},
                 {"transpose_y", Literal::boolean(change_ == Change::kStateIsTransposed)}});
  }

  // One token, as models/blocks/delta_net.cc writes it.
  Value* step(Builder& b, Value* state, Value* q, Value* k, Value* v, Value* strength, Value* decay,
              std::vector<Value*>& reads) const {
    Value* decayed = two(b, "mul", state, decay);
    Value* news = two(b, "sub", v, product(b, k, decayed));
    Value* written = two(b, "mul", news, strength);
    std::vector<std::int32_t> column;
    for (const std::int64_t size : with(sizes_.keys, sizes_.key_dim, 1))
      column.push_back(static_cast<std::int32_t>(size));
    Value* key = b.op("reshape", {{"x", k}, {"shape", Literal::int32s(column)}});
    Value* updated = two(b, "add", decayed, two(b, "mul", key, written));
    reads.push_back(product(b, q, updated));
    return updated;
  }

  Shape shape_of(std::string_view name) const {
    const std::int64_t t = sizes_.tokens;
    if (name == "q" || name == "k") return with(sizes_.keys, t, sizes_.key_dim);
    if (name == "v")
      return with(change_ == Change::kValuesForAllHeads ? Shape{1, 1} : sizes_.heads, t,
                  sizes_.value_dim);
    if (name == "decay" && change_ == Change::kDecayOfEachKey)
      return with(sizes_.heads, t * sizes_.key_dim, 1);
    return with(sizes_.heads, t, 1);
  }

  std::vector<Given> given() {
    std::vector<Given> out;
    for (const char* name : {"q", "k", "v", "strength", "decay"})
      out.push_back({name, random(shape_of(name), name == std::string("k") ? 0.3f : 1.0f)});
    return out;
  }

  // Steps over one state that give the bits of the reference, in one operation or not.
  void expect_same_bits(const Sizes& sizes, Change change = Change::kNone, bool is_fused = true) {
    SCOPED_TRACE("change " + std::to_string(static_cast<int>(change)) + ", " +
                 std::to_string(sizes.tokens) + " tokens");
    build(sizes, change);
    const auto loaded = load_as(kernels::simd::Isa::kPlain, false);
    ASSERT_NE(loaded, nullptr);
    const std::vector<std::string> names = fused(*loaded);
    if (is_fused)
      EXPECT_EQ(names, std::vector<std::string>{"delta_net"});
    else
      EXPECT_EQ(std::ranges::count(names, "delta_net"), 0);
    expect_like_reference(names, {given(), given(), given()}, 0);
  }

  Sizes sizes_;
  Change change_ = Change::kNone;
};

// Steps of one token and of more are one operation each.
TEST_F(DeltaNet, GivesTheBitsOfItsOperations) {
  for (const std::int64_t tokens : {1, 2, 5, 16}) expect_same_bits({.tokens = tokens});
}

// A step of one token has the same bits with chunks allowed. In a longer one the reference rounds
// the state three times per token, by 2^-11 at most each time, and the chunks round it once.
TEST_F(DeltaNet, MayBeComputedInChunks) {
  options.chunks_delta_nets = true;
  for (const std::int64_t tokens : {1, 2, 16, 21})
    for (const std::int64_t value_dim : {10, 70}) {
      SCOPED_TRACE(tokens);
      build({.tokens = tokens, .value_dim = value_dim});
      const double tolerance = tokens == 1 ? 0 : 3 * 0x1p-11 * static_cast<double>(tokens);
      expect_like_reference({"delta_net"}, {given(), given()}, tolerance);
    }
  // Steps over one state, one after the other in the same call.
  build({.heads = {2, 2}, .tokens = 5, .value_dim = 48});
  const std::vector<std::vector<Given>> steps = {given(), given(), given()};
  expect_states_like_single_runs(steps, true);
}

// Sizes around vectors and the columns that a thread takes, and enough of them for all threads.
TEST_F(DeltaNet, HasAnySize) {
  for (const std::int64_t key_dim : {2, 16, 40})
    for (const std::int64_t value_dim : {1, 16, 33, 70})
      expect_same_bits({.tokens = 3, .key_dim = key_dim, .value_dim = value_dim});
  expect_same_bits({.heads = {4, 2}, .keys = {4, 1}, .tokens = 1, .key_dim = 64, .value_dim = 128});
}

// Value heads of a key head lie together or apart, and there may be one for each.
TEST_F(DeltaNet, HasKeysForGroupsOfHeads) {
  for (const std::int64_t tokens : {1, 4})
    for (const Shape& keys : {Shape{1, 3}, {2, 3}, {1, 1}})
      expect_same_bits({.keys = keys, .tokens = tokens});
}

TEST_F(DeltaNet, IsFoundWithOperandsSwapped) {
  for (const std::int64_t tokens : {1, 3})
    expect_same_bits({.tokens = tokens}, Change::kOperandsSwapped);
}

TEST_F(DeltaNet, WhatComputesSomethingElseIsLeftAsItIs) {
  for (const Change change : {Change::kStateIsRead, Change::kStateIsReadAgain,
                              Change::kOtherStateIsKept, Change::kValuesForAllHeads})
    for (const std::int64_t tokens : {1, 3}) expect_same_bits({.tokens = tokens}, change, false);
  expect_same_bits({.tokens = 1}, Change::kDecayOfEachKey, false);
  expect_same_bits({.tokens = 3}, Change::kReadsReversed, false);
  expect_same_bits({.tokens = 3}, Change::kValuesFromOneToken, false);
  expect_same_bits({.tokens = 2, .key_dim = 12, .value_dim = 12}, Change::kStateIsTransposed,
                   false);
}

// A state of one number, whose decay is the number itself.
TEST_F(DeltaNet, TheStateIsNoOperand) {
  Builder b = function();
  Value* x = b.input("x", half({1, 1, 1, 1}));
  Value* stored = b.input("s", Type::state(DType::kFp16, {1, 1, 1, 1}));
  Value* before = b.read_state(stored, "before");
  Value* decayed = two(b, "mul", before, before);
  Value* written = two(b, "mul", two(b, "sub", x, product(b, x, decayed)), x);
  Value* after = two(b, "add", decayed, two(b, "mul", x, written));
  Value* y = product(b, x, after);
  b.write_state(stored, after, "write");
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto names = fused(*load());
  EXPECT_EQ(std::ranges::count(names, "delta_net"), 0);
  expect_like_reference(names, {{{"x", random({1, 1, 1, 1})}}, {{"x", random({1, 1, 1, 1})}}}, 0);
}

TEST_F(DeltaNet, RunsOverTheSameStateAndOverOthersGoTogether) {
  for (const std::int64_t tokens : {1, 4}) {
    build({.heads = {2, 2}, .tokens = tokens, .value_dim = 48});
    const std::vector<std::vector<Given>> steps = {given(), given(), given()};
    expect_states_like_single_runs(steps, true);
    expect_states_like_single_runs(steps, false);
  }
}

TEST_F(DeltaNet, ThePlanCountsItsStateAndItsProducts) {
  build({.heads = {2, 3}, .tokens = 5, .key_dim = 8, .value_dim = 10});
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ(steps->front().name, "delta_net");
  EXPECT_EQ(steps->front().flops, 2 * 2 * 6 * 5 * 8 * 10);
  EXPECT_EQ(steps->front().state_bytes, 6 * 8 * 10 * 2);
}

}  // namespace
}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <thread>

#include "base/machine.h"
#include "base/zero_memory.h"
#include "exec/cpu/buffer_pool.h"
#include "tests/exec/program_fixture.h"
#include "tests/support/resident_bytes.h"

namespace anemone::exec {
namespace {

// y = old + x; cache = old + x, read again after the write; z = what the second read gives.
struct States : ProgramFixture {
  void add_function(std::string name) {
    Builder b = function(std::move(name));
    Value* x = b.input("x", Type::tensor(DType::kFp16, {2}));
    Value* cache = b.input("cache", Type::state(DType::kFp16, {2}));
    Value* before = b.read_state(cache, "before");
    Value* sum = b.op("add", {{"x", before}, {"y", x}}, "sum");
    b.write_state(cache, sum, "write");
    Value* after = b.read_state(cache, "after");
    Value* old = b.op("mul", {{"x", before}, {"y", Literal::number(1, DType::kFp16)}}, "old");
    Value* fresh = b.op("mul", {{"x", after}, {"y", Literal::number(1, DType::kFp16)}}, "fresh");
    ASSERT_TRUE(b.finish({old, fresh}).ok()) << b.status().message();
  }

  static Tensor halves(const std::vector<float>& values) {
    Tensor out(DType::kFp16, {static_cast<std::int64_t>(values.size())});
    store_floats(values, out.mutable_view());
    return out;
  }
  const Tensor x0 = halves({1, 2});
};

using Floats = std::vector<float>;

// None of them is too large by itself, and the system would promise the memory for all.
TEST_F(States, ThatTogetherNeedMoreMemoryThanThereIsAreRefused) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp16, {2}));
  const auto elements = static_cast<std::int64_t>(usable_memory_bytes() / 4 / sizeof(Half));
  for (const char* name : {"first", "second", "third", "fourth"})
    b.input(name, Type::state(DType::kFp16, {elements}));
  ASSERT_TRUE(b.finish({b.op("relu", {{"x", x}}, "y")}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const auto state = loaded->make_state();
  EXPECT_EQ(state.status().code(), Code::kOutOfMemory) << state.status().message();
}

TEST_F(States, AReadSeesWhatWasWrittenBeforeItAndNotWhatComesAfter) {
  add_function("main");
  const auto loaded = load();
  auto state = loaded->make_state();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "old", state->get()), (Floats{0, 0}));
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "fresh", state->get()), (Floats{2, 4}));
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "old", state->get()), (Floats{2, 4}));
}

TEST_F(States, StartAtZeroAndGoBackToZeroOnReset) {
  add_function("main");
  const auto loaded = load();
  auto state = loaded->make_state();
  ASSERT_TRUE(state.ok());
  run(*loaded, {{"x", x0.view()}}, "old", state->get());
  EXPECT_EQ(to_floats((*state)->read("cache")->view()), (Floats{1, 2}));
  (*state)->reset();
  EXPECT_EQ(to_floats((*state)->read("cache")->view()), (Floats{0, 0}));
}

// Most positions of a long context were never written, and a reset must not touch them.
TEST(BufferTest, BecomesZeroAndGivesItsPagesBack) {
  for (const std::uint64_t bytes :
       {std::uint64_t{100}, std::uint64_t{5000}, (std::uint64_t{1} << 20) - 64,
        (std::uint64_t{48} << 20) + 320}) {
    const BufferRef buffer = Buffer::make_zero(bytes);
    ASSERT_NE(buffer, nullptr);
    const std::span<std::byte> all(buffer->data(), static_cast<std::size_t>(bytes));
    const auto is_zero = [&] {
      return std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; });
    };
    EXPECT_TRUE(is_zero()) << bytes;
    std::ranges::fill(all, std::byte{0xab});
    const std::size_t full = testing::resident_bytes();
    zero_memory(buffer->data(), all.size());
#ifdef __linux__
    if (bytes > std::uint64_t{32} << 20) {
      EXPECT_LT(testing::resident_bytes() + (std::uint64_t{32} << 20), full);
    }
#else
    static_cast<void>(full);
#endif
    EXPECT_TRUE(is_zero()) << bytes;
  }
}

TEST_F(States, RunsOfABatchOverOneStoreComeInOrder) {
  add_function("main");
  const auto loaded = load();
  auto shared = loaded->make_state();
  auto own = loaded->make_state();
  ASSERT_TRUE(shared.ok() && own.ok());
  const Inputs inputs = {{"x", x0.view()}};
  Outputs outputs[3];
  const BatchItem items[] = {{&inputs, &outputs[0], shared->get()},
                             {&inputs, &outputs[1], own->get()},
                             {&inputs, &outputs[2], shared->get()}};
  const Status batch = loaded->run_batch("", items);
  ASSERT_TRUE(batch.ok()) << batch.message();
  const auto fresh = [&](int i) { return to_floats(find_output(outputs[i], "fresh")->view()); };
  EXPECT_EQ(fresh(0), (Floats{1, 2}));
  EXPECT_EQ(fresh(1), (Floats{1, 2}));
  EXPECT_EQ(fresh(2), (Floats{2, 4}));
  EXPECT_EQ(to_floats((*shared)->read("cache")->view()), (Floats{2, 4}));
}

TEST_F(States, AreReadAndWrittenByName) {
  add_function("main");
  const auto loaded = load();
  auto state = loaded->make_state();
  ASSERT_TRUE(state.ok());
  ASSERT_EQ((*state)->states().size(), 1u);
  EXPECT_EQ((*state)->states()[0].name, "cache");
  EXPECT_TRUE((*state)->write("cache", halves({5, 6}).view()).ok());
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "fresh", state->get()), (Floats{6, 8}));
  EXPECT_EQ((*state)->write("cache", halves({1}).view()).message(),
            "[state cache] expected fp16 [2], got fp16 [1]");
  EXPECT_EQ((*state)->read("other").status().code(), Code::kNotFound);
}

TEST_F(States, AreSharedByAllFunctionsOfAProgram) {
  add_function("decode");
  add_function("prefill");
  const auto loaded = load();
  auto state = loaded->make_state();
  ASSERT_TRUE(state.ok());
  run(*loaded, {{"x", x0.view()}}, "old", state->get(), "prefill");
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "old", state->get(), "decode"), (Floats{1, 2}));
}

TEST_F(States, AreSeparateInSeparateStores) {
  add_function("main");
  const auto loaded = load();
  auto a = loaded->make_state();
  auto b = loaded->make_state();
  run(*loaded, {{"x", x0.view()}}, "old", a->get());
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}}, "old", b->get()), (Floats{0, 0}));
}

TEST_F(States, CanBeWrittenAndUsedAfterARunThatFailed) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp16, {2}));
  Value* index = b.input("index", Type::tensor(DType::kInt32, {1}));
  Value* cache = b.input("cache", Type::state(DType::kFp16, {2}));
  b.write_state(cache, x, "write");
  Value* read = b.read_state(cache, "read");
  Value* out = b.op("gather",
                    {{"x", read},
                     {"indices", index},
                     {"axis", Literal::int32(0)},
                     {"batch_dims", Literal::int32(0)},
                     {"validate_indices", Literal::boolean(true)}},
                    "out");
  ASSERT_TRUE(b.finish({out}).ok()) << b.status().message();
  const auto loaded = load();
  auto state = loaded->make_state();
  ASSERT_TRUE(state.ok());
  ASSERT_TRUE((*state)->write("cache", halves({5, 6}).view()).ok());
  const Tensor bad = ints({1}, {7});
  EXPECT_TRUE(run(*loaded, {{"x", x0.view()}, {"index", bad.view()}}, "out", state->get()).empty());
  EXPECT_FALSE(status.ok());
  ASSERT_TRUE((*state)->write("cache", halves({5, 6}).view()).ok());
  EXPECT_EQ(to_floats((*state)->read("cache")->view()), (Floats{5, 6}));
  const Tensor good = ints({1}, {1});
  EXPECT_EQ(run(*loaded, {{"x", x0.view()}, {"index", good.view()}}, "out", state->get()),
            (Floats{2}));
  EXPECT_EQ(to_floats((*state)->read("cache")->view()), (Floats{1, 2}));
}

TEST_F(States, AnInputWrittenAsStateIsACopy) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp16, {2}));
  Value* cache = b.input("cache", Type::state(DType::kFp16, {2}));
  b.write_state(cache, x, "write");
  Value* read = b.read_state(cache, "read");
  ASSERT_TRUE(b.finish({read}).ok()) << b.status().message();
  const auto loaded = load();
  auto state = loaded->make_state();
  Tensor mine = halves({3, 4});
  EXPECT_EQ(run(*loaded, {{"x", mine.view()}}, "read", state->get()), (Floats{3, 4}));
  store_floats(Floats{9, 9}, mine.mutable_view());
  EXPECT_EQ(to_floats((*state)->read("cache")->view()), (Floats{3, 4}));
}

TEST_F(States, AFunctionWithStatesNeedsAStore) {
  add_function("main");
  const auto loaded = load();
  run(*loaded, {{"x", x0.view()}}, "old", nullptr);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST_F(States, AStoreOfAnotherProgramIsRefused) {
  add_function("main");
  const auto loaded = load();
  auto other = std::make_shared<Program>();
  std::swap(program, other);
  Builder b = function();
  Value* cache = b.input("other", Type::state(DType::kFp16, {2}));
  ASSERT_TRUE(b.finish({b.read_state(cache, "read")}).ok());
  auto state = load()->make_state();
  run(*loaded, {{"x", x0.view()}}, "old", state->get());
  EXPECT_EQ(status.message(),
            "[cache] the state store was made for another program, which has no such state");
}

TEST_F(States, RunsWithDifferentStoresGoOnAtTheSameTime) {
  add_function("main");
  const auto loaded = load();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      auto state = loaded->make_state();
      Outputs outputs;
      for (int i = 0; i < 200; ++i) {
        if (!loaded->run("", {{"x", x0.view()}}, outputs, state->get()).ok()) ++wrong[t];
        if (to_floats(outputs[0].tensor.view())[0] != static_cast<float>(i)) ++wrong[t];
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace anemone::exec

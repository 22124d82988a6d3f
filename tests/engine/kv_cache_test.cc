// SPDX-License-Identifier: Apache-2.0
// Every kind of cache, written by a fake program that stores what a step tells it to, behaves
// alike.
#include "engine/session/kv_cache.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

namespace anemone::engine {
namespace {

constexpr std::int64_t kPositions = 8;
constexpr std::int64_t kCacheHeads = 2;
constexpr std::int64_t kDim = 3;
const Shape kCacheShape = {1, kCacheHeads, kPositions, kDim};
const Shape kTailShape = {1, 1, 4, 2};

// States in maps; edit() is that of the interface, by copies.
class MapStore : public exec::StateStore {
 public:
  MapStore() {
    for (const auto& [name, shape] : {std::pair("state_k", kCacheShape), {"tail", kTailShape}}) {
      exec::Feature& feature = features_.emplace_back();
      feature.name = name;
      feature.dtype = DType::kFp32;
      feature.shape = shape;
    }
    reset();
  }
  const std::vector<exec::Feature>& states() const override { return features_; }
  Result<Tensor> read(std::string_view name) const override {
    return values_.find(name)->second.clone();
  }
  Status write(std::string_view name, const TensorView& value) override {
    values_.find(name)->second = Tensor::copy_of(value);
    return {};
  }
  void reset() override {
    for (const exec::Feature& feature : features_)
      values_[feature.name] = Tensor(feature.dtype, feature.shape);
  }

 private:
  std::vector<exec::Feature> features_;
  std::map<std::string, Tensor, std::less<>> values_;
};

class NoProgram : public exec::LoadedProgram {
 public:
  const std::vector<std::string>& functions() const override { return names_; }
  const std::string& default_function() const override { return names_[0]; }
  const exec::Signature* signature(std::string_view) const override { return nullptr; }
  Result<std::unique_ptr<exec::StateStore>> make_state() const override {
    return std::unique_ptr<exec::StateStore>(std::make_unique<MapStore>());
  }
  Status run(std::string_view, const exec::Inputs&, exec::Outputs&,
             exec::StateStore*) const override {
    return {};
  }

 private:
  const std::vector<std::string> names_ = {"main"};
};

using Kind = CacheLayout::Kind;

struct KvCacheTest : ::testing::Test {
  NoProgram program;

  // A package with a cache of each kind, and one with a recurrent state of each kind.
  KvCache make(bool is_recurrent) {
    std::vector<KvCache::Package> packages(2);
    for (auto& package : packages) package.program = &program;
    packages[0].caches = {
        {"state_k", "", DType::kFp32, kCacheShape, Kind::kState, false},
        {"whole_k", "whole_k_out", DType::kFp32, kCacheShape, Kind::kReplace, false},
        {"past_k", "past_k_new", DType::kFp32, kCacheShape, Kind::kAppend, false}};
    if (is_recurrent)
      packages[1].caches = {
          {"tail", "", DType::kFp32, kTailShape, Kind::kState, true},
          {"moving", "moving_out", DType::kFp32, kTailShape, Kind::kReplace, true}};
    auto made = KvCache::make(std::move(packages));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  // What a program does: `value` goes to each position of every cache, and to recurrent states.
  static void step(KvCache& cache, std::int64_t position, const std::vector<float>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto put = [&](const MutableTensorView& to) {
      const auto elements = to.as<float>();
      for (std::int64_t h = 0; h < kCacheHeads; ++h)
        for (std::int64_t t = 0; t < count; ++t)
          for (std::int64_t d = 0; d < kDim; ++d)
            elements[static_cast<std::size_t>((h * kPositions + position + t) * kDim + d)] =
                values[static_cast<std::size_t>(t)];
    };
    const auto fill = [&](const MutableTensorView& to) {
      std::ranges::fill(to.as<float>(), values.back());
    };
    ASSERT_TRUE(cache.states(0)->edit("state_k", put).ok());
    for (const exec::CacheBinding& binding : cache.bindings(0, position, count)) {
      EXPECT_EQ(binding.position, position);
      EXPECT_EQ(binding.count, count);
      put(binding.cache->mutable_view());
    }
    ASSERT_TRUE(cache.states(1)->edit("tail", fill).ok());
    for (const exec::CacheBinding& binding : cache.bindings(1, position, count))
      fill(binding.cache->mutable_view());
    cache.append(position, count);
  }

  // The values of positions [0, kPositions), which must be the same in every head, and in every
  // kind.
  static std::vector<float> positions(KvCache& cache) {
    std::vector<std::vector<float>> all = {to_floats(cache.states(0)->read("state_k")->view())};
    for (const exec::CacheBinding& binding : cache.bindings(0, 0, 0))
      all.push_back(to_floats(binding.cache->view()));
    EXPECT_EQ(all.size(), 3U);
    std::vector<float> out;
    for (std::size_t s = 0; s < static_cast<std::size_t>(kPositions); ++s) {
      out.push_back(all[0][s * kDim]);
      for (const auto& one : all)
        for (std::size_t h = 0; h < static_cast<std::size_t>(kCacheHeads); ++h)
          for (std::size_t d = 0; d < static_cast<std::size_t>(kDim); ++d)
            EXPECT_EQ(one[(h * kPositions + s) * kDim + d], out.back()) << s;
    }
    return out;
  }
  static float recurrent(KvCache& cache) {
    std::vector<float> all = to_floats(cache.states(1)->read("tail")->view());
    for (const exec::CacheBinding& binding : cache.bindings(1, 0, 0))
      for (const float value : to_floats(binding.cache->view())) all.push_back(value);
    EXPECT_EQ(all.size(), 16U);
    for (const float value : all) EXPECT_EQ(value, all[0]);
    return all[0];
  }
};

using Floats = std::vector<float>;

// Two growing caches of a context of 40, of which a function takes all or 20 positions.
struct GrowingCache : KvCacheTest {
  static constexpr std::int64_t kContext = 40;
  KvCache make_growing() {
    KvCache::Package package{.program = &program, .caches = {}};
    const Shape shape = {1, kCacheHeads, kContext, kDim};
    package.caches = {
        {"k", "k_new", DType::kFp32, shape, Kind::kGrow, false, 0, kContext},
        {"k_window", "k_window_new", DType::kFp32, shape, Kind::kGrow, false, 20, 20}};
    auto made = KvCache::make({std::move(package)});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  // Stores position + 1 at each of `count` positions from the end on.
  static void add(KvCache& cache, std::int64_t count) {
    const std::int64_t position = cache.length();
    ASSERT_TRUE(cache.reserve(position + count).ok());
    for (const exec::CacheBinding& binding : cache.bindings(0, position, count)) {
      EXPECT_EQ(binding.kind, exec::CacheBinding::Kind::kAppend);
      const std::int64_t room = binding.cache->shape()[2];
      for (std::int64_t h = 0; h < kCacheHeads; ++h)
        for (std::int64_t s = position; s < position + count; ++s)
          for (std::int64_t d = 0; d < kDim; ++d)
            binding.cache->mutable_view()
                .as<float>()[static_cast<std::size_t>((h * room + s) * kDim + d)] =
                static_cast<float>(s + 1);
    }
    cache.append(position, count);
  }

  // Expects the first positions of every head of every cache to have what add() put there.
  static void expect_stored(KvCache& cache) {
    for (const exec::CacheBinding& binding : cache.bindings(0, cache.length(), 0)) {
      const std::vector<float> all = to_floats(binding.cache->view());
      const std::int64_t room = binding.cache->shape()[2];
      for (std::int64_t h = 0; h < kCacheHeads; ++h)
        for (std::int64_t s = 0; s < cache.length(); ++s)
          EXPECT_EQ(all[static_cast<std::size_t>((h * room + s) * kDim)],
                    static_cast<float>(s + 1));
    }
  }
  // Positions that a step takes of each cache.
  static std::vector<std::int64_t> taken(KvCache& cache) {
    std::vector<std::int64_t> out;
    for (const exec::CacheBinding& binding : cache.bindings(0, cache.length(), 0))
      out.push_back(binding.past);
    return out;
  }
};

using Sizes = std::vector<std::int64_t>;

TEST_F(GrowingCache, HasRoomForPowersOfTwoUpToTheContext) {
  KvCache cache = make_growing();
  add(cache, 1);
  EXPECT_EQ(taken(cache), (Sizes{16, 16}));
  EXPECT_EQ(cache.taken_positions(kContext), 16);
  const std::byte* before = cache.bindings(0, 1, 1)[0].cache->view().data;
  add(cache, 15);
  EXPECT_EQ(taken(cache), (Sizes{16, 16}));
  EXPECT_EQ(cache.bindings(0, 16, 0)[0].cache->view().data, before) << "nothing is copied";
  add(cache, 1);
  EXPECT_EQ(taken(cache), (Sizes{32, 20}));
  EXPECT_EQ(cache.bindings(0, 17, 0)[0].cache->shape(), (Shape{1, kCacheHeads, 32, kDim}));
  expect_stored(cache);
  add(cache, 16);
  EXPECT_EQ(taken(cache), (Sizes{40, 20}));
  EXPECT_EQ(cache.bindings(0, 33, 0)[1].cache->shape(), (Shape{1, kCacheHeads, 40, kDim}));
  add(cache, 7);
  EXPECT_EQ(cache.length(), kContext);
  EXPECT_EQ(cache.taken_positions(kContext), kContext);
  expect_stored(cache);
  EXPECT_EQ(cache.bytes(), 2 * kContext * kCacheHeads * kDim * sizeof(float));
}

// More bytes than there are addresses.
TEST_F(GrowingCache, StaysAsItIsWhenThereIsNoMemoryForMore) {
  constexpr std::int64_t kEndless = std::int64_t{1} << 44;
  KvCache::Package package{.program = &program, .caches = {}};
  const Shape shape = {1, kCacheHeads, kEndless, kDim};
  package.caches = {{"k", "k_new", DType::kFp32, shape, Kind::kGrow, false, 0, kEndless}};
  auto made = KvCache::make({std::move(package)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  add(*made, 5);
  const Status status = made->reserve(kEndless);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(status.message(), "[k] not enough memory: the cache needs 422212465065984 bytes");
  EXPECT_EQ(made->taken_positions(kEndless), 16);
  expect_stored(*made);
  add(*made, 12);
  expect_stored(*made);
}

TEST_F(GrowingCache, IsCopiedAndCutAndCleared) {
  KvCache from = make_growing();
  add(from, 33);
  KvCache to = make_growing();
  ASSERT_TRUE(to.copy_prefix(from, 0).ok());
  EXPECT_EQ(to.length(), 0);
  ASSERT_TRUE(to.copy_prefix(from, 17).ok());
  EXPECT_EQ(taken(to), (Sizes{32, 20}));
  expect_stored(to);
  // Into one that was longer, which keeps its room.
  ASSERT_TRUE(from.copy_prefix(to, 3).ok());
  EXPECT_EQ(from.length(), 3);
  expect_stored(from);
  add(from, 2);
  expect_stored(from);
  ASSERT_TRUE(to.truncate(5).ok());
  add(to, 30);
  expect_stored(to);
  to.clear();
  EXPECT_EQ(to.taken_positions(kContext), 0);
  add(to, 2);
  EXPECT_EQ(taken(to), (Sizes{16, 16}));
  expect_stored(to);
}

TEST_F(KvCacheTest, BindsTensorsByTheirKind) {
  KvCache cache = make(false);
  const auto bindings = cache.bindings(0, 2, 3);
  ASSERT_EQ(bindings.size(), 2U);
  EXPECT_EQ(bindings[0].input, "whole_k");
  EXPECT_EQ(bindings[0].output, "whole_k_out");
  EXPECT_EQ(bindings[0].kind, exec::CacheBinding::Kind::kReplace);
  EXPECT_EQ(bindings[1].input, "past_k");
  EXPECT_EQ(bindings[1].kind, exec::CacheBinding::Kind::kAppend);
  EXPECT_TRUE(cache.bindings(1, 0, 1).empty());
}

TEST_F(KvCacheTest, CountsTokensAndTheirMemory) {
  KvCache cache = make(false);
  const std::uint64_t per_token = 3 * kCacheHeads * kDim * sizeof(float);
  EXPECT_EQ(cache.bytes(), 0U);
  step(cache, 0, {1, 2, 3});
  EXPECT_EQ(cache.length(), 3);
  EXPECT_EQ(cache.bytes(), 3 * per_token);
  ASSERT_TRUE(cache.truncate(2).ok());
  EXPECT_EQ(cache.length(), 2);
  // A step before the end drops what was after it.
  step(cache, 1, {7});
  EXPECT_EQ(cache.length(), 2);
  EXPECT_EQ(cache.bytes(), 2 * per_token);
  EXPECT_EQ(cache.truncate(3).code(), Code::kInvalidArgument);
  EXPECT_EQ(cache.truncate(-1).code(), Code::kInvalidArgument);
}

TEST_F(KvCacheTest, CopiesTheFirstTokensOfAnother) {
  KvCache from = make(false);
  step(from, 0, {1, 2, 3, 4, 5});
  KvCache to = make(false);
  step(to, 0, {9, 9});
  ASSERT_TRUE(to.copy_prefix(from, 3).ok());
  EXPECT_EQ(to.length(), 3);
  EXPECT_EQ(positions(to), (Floats{1, 2, 3, 0, 0, 0, 0, 0}));
  // They are two from now on.
  step(to, 3, {8});
  EXPECT_EQ(positions(from), (Floats{1, 2, 3, 4, 5, 0, 0, 0}));
  EXPECT_EQ(positions(to), (Floats{1, 2, 3, 8, 0, 0, 0, 0}));
  EXPECT_EQ(to.copy_prefix(from, 6).code(), Code::kInvalidArgument);
  ASSERT_TRUE(to.copy_prefix(from, 0).ok());
  EXPECT_EQ(to.length(), 0);
}

TEST_F(KvCacheTest, RecurrentStatesStandForAllTokens) {
  KvCache from = make(true);
  step(from, 0, {1, 2, 3});
  EXPECT_TRUE(from.is_recurrent());
  EXPECT_EQ(from.truncate(2).code(), Code::kUnsupported);
  EXPECT_TRUE(from.truncate(3).ok());
  KvCache to = make(true);
  EXPECT_EQ(to.copy_prefix(from, 2).code(), Code::kUnsupported);
  EXPECT_EQ(to.length(), 0);
  ASSERT_TRUE(to.copy_prefix(from, 3).ok());
  EXPECT_EQ(positions(to), (Floats{1, 2, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(recurrent(to), 3);
}

TEST_F(KvCacheTest, ASnapshotBringsRecurrentStatesBack) {
  KvCache cache = make(true);
  step(cache, 0, {1, 2});
  const auto saved = cache.snapshot();
  ASSERT_TRUE(saved.ok());
  EXPECT_EQ(saved->length, 2);
  EXPECT_EQ(saved->bytes(), 2 * 8 * sizeof(float));
  step(cache, 2, {5, 6, 7});
  EXPECT_EQ(recurrent(cache), 7);
  ASSERT_TRUE(cache.restore(*saved).ok());
  EXPECT_EQ(cache.length(), 2);
  EXPECT_EQ(recurrent(cache), 2);
  // The tokens themselves are in no snapshot.
  cache.clear();
  EXPECT_EQ(cache.restore(*saved).code(), Code::kInvalidArgument);
}

TEST_F(KvCacheTest, ClearingMakesAllZero) {
  KvCache cache = make(true);
  step(cache, 0, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(cache.bytes(), 8 * 3 * kCacheHeads * kDim * sizeof(float) + 2 * 8 * sizeof(float));
  cache.clear();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(positions(cache), Floats(8, 0));
  EXPECT_EQ(recurrent(cache), 0);
}

}  // namespace
}  // namespace anemone::engine

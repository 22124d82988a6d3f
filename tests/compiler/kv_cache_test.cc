// SPDX-License-Identifier: Apache-2.0
// The caches of real packages: a sequence that goes on from a copy, or from a snapshot, gives the
// bits of one that was never cut.
#include "engine/session/kv_cache.h"

#include <gtest/gtest.h>
#include <string>

#include "engine/session/bucket.h"
#include "engine/session/step.h"
#include "exec/profile.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using engine::KvCache;

// Runs `ids` from where the cache is, in single steps; returns the last hidden state of each that
// is read.
std::vector<std::vector<float>> run(const engine::Model& model, KvCache& cache,
                                    std::span<const std::int32_t> ids, bool is_read = true) {
  const auto& plans = model.functions();
  const auto plan = std::ranges::find_if(plans, [&](const engine::FunctionPlan& one) {
    return one.function->tokens == 1 && one.context == model.context();
  });
  engine::Bucket bucket(model, *plan);
  bucket.set_width(1);
  engine::StepOutputs outputs = engine::make_outputs(model);
  std::vector<std::vector<float>> out;
  for (const std::int32_t& id : ids) {
    auto chunk = bucket.fill(0, {&id, 1}, cache.length(), 40, cache, outputs);
    EXPECT_TRUE(chunk.ok()) << chunk.status().message();
    chunk->is_read = is_read;
    const Status status = engine::run_shards(model, *plan, {&*chunk, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    if (is_read) out.push_back(to_floats(chunk->hidden));
  }
  return out;
}

class CachesOfPackages : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void check(const engine::Model& model) {
    const std::vector<std::int32_t> ids = {5, 9, 2, 7, 1, 8, 3, 6, 4, 5, 2, 9};
    const std::span<const std::int32_t> all(ids);
    auto whole = KvCache::make(model);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    const auto expected = run(model, *whole, all);
    EXPECT_EQ(whole->length(), 12);

    auto from = KvCache::make(model);
    run(model, *from, all.first(7));
    const std::uint64_t bytes = from->bytes();
    auto to = KvCache::make(model);
    // Something else was here before.
    run(model, *to, all.last(4));
    to->clear();
    ASSERT_TRUE(to->copy_prefix(*from, 7).ok());
    EXPECT_EQ(to->bytes(), bytes);
    const std::vector<std::vector<float>> tail(expected.begin() + 7, expected.end());
    EXPECT_EQ(run(model, *to, all.subspan(7)), tail);

    auto unread = KvCache::make(model);
    run(model, *unread, all.first(7), /*is_read=*/false);
    EXPECT_EQ(run(model, *unread, all.subspan(7)), tail);

    // Back to where the copy was taken, and on again.
    const auto saved = from->snapshot();
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    run(model, *from, std::vector<std::int32_t>{1, 1, 1});
    ASSERT_TRUE(from->restore(*saved).ok());
    EXPECT_EQ(from->length(), 7);
    EXPECT_EQ(run(model, *from, all.subspan(7)), tail);

    if (!from->is_recurrent()) {
      ASSERT_TRUE(to->copy_prefix(*whole, 9).ok());
      ASSERT_TRUE(to->truncate(8).ok());
      EXPECT_EQ(run(model, *to, all.subspan(8)),
                std::vector<std::vector<float>>(expected.begin() + 8, expected.end()));
    }
    to->clear();
    EXPECT_EQ(to->length(), 0);
    EXPECT_EQ(run(model, *to, all), expected);
  }
};

TEST_P(CachesOfPackages, GoOnFromCopiesAndSnapshots) {
  if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
  CompileOptions exact;
  exact.precision = DType::kFp32;
  exact.recipe.quant.scheme = quant::Scheme::kNone;
  CompileOptions half;
  CompileOptions exact_packed = exact;
  CompileOptions packed;
  exact_packed.form.cache = packed.form.cache = artifact::CacheForm::kSlice;
  CompileOptions exact_growing = exact;
  CompileOptions growing;
  exact_growing.form.cache = growing.form.cache = artifact::CacheForm::kGrowing;
  for (CompileOptions options : {exact, half, exact_packed, packed, exact_growing, growing}) {
    options.context = 40;
    options.prefill = 8;
    SCOPED_TRACE(std::string(dtype_name(options.precision)));
    const std::string folder = compiled_folder(GetParam(), options);
    for (const char* isa : {"", "reference"}) {
      SCOPED_TRACE(isa);
      const auto model = load_model(folder, isa);
      ASSERT_NE(model, nullptr);
      if (model->manifest().classifies()) GTEST_SKIP() << "a model without caches";
      check(*model);
    }
  }
}

// Layers 2 and 3 of this model attend to the keys of layers 0 and 1.
TEST(LayersWithKeysOfOthers, AreLeftOutForTokensThatNobodyReads) {
  const auto all = checkpoints();
  const auto gemma = std::ranges::find(all, "tiny_gemma4_text", &Checkpoint::name);
  ASSERT_NE(gemma, all.end());
  CompileOptions options{.context = 40, .prefill = 8};
  options.form.cache = artifact::CacheForm::kReadOnly;
  const auto model = load_model(compiled_folder(*gemma, options));
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(model->manifest().shards.size(), 1U);
  ASSERT_TRUE(exec::set_timed(model->shard(0), true).ok());
  auto cache = KvCache::make(*model);
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  run(*model, *cache, std::vector<std::int32_t>{5, 9, 2}, /*is_read=*/false);
  const auto steps = exec::explain(model->shard(0), "decode");
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  for (const int layer : {0, 1, 2, 3}) {
    SCOPED_TRACE(layer);
    int products = 0;
    for (const exec::PlanStep& step : *steps) {
      const bool is_of_layer = step.operation.starts_with("layer_" + std::to_string(layer) + "_");
      if (!is_of_layer || step.seconds == 0) continue;
      products += step.name == "projection" ? 1 : 0;
    }
    // Those of queries, keys and values; layer 0 also has one for the attention, two for the MLP
    // and three for the embedding of the layer.
    EXPECT_EQ(products, layer == 0 ? 7 : layer == 1 ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(, CachesOfPackages, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing

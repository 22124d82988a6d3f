// SPDX-License-Identifier: Apache-2.0
// The logits of a token are a function of the tokens up to it, to the bit: in whatever steps the
// text was read, on every instruction set of this machine.
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "engine/session/session.h"
#include "kernels/simd/isa.h"
#include "tests/compiler/golden.h"
#include "tests/support/random_ids.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// Longer than the widest step and than the first tier.
constexpr std::int64_t kTokens = 60;
// Ids that every tokenizer here has.
constexpr std::uint32_t kIds = 50;

std::vector<std::int32_t> text() {
  return anemone::testing::random_ids(static_cast<std::size_t>(kTokens), kIds, /*seed=*/1);
}

CompileOptions options_of(std::string_view recipe) {
  CompileOptions options;
  options.recipe = *parse_recipe(recipe);
  options.recipe.quant.threshold = 0;
  options.context = 64;
  options.tiers = {24};
  options.prefill = 32;
  options.draft_width = 7;
  return options;
}

// Logits of all positions of a text that is read in pieces of these sizes.
std::vector<float> logits_of(std::shared_ptr<const engine::Model> model,
                             const std::vector<std::int32_t>& ids,
                             const std::vector<std::int64_t>& pieces) {
  std::vector<float> out;
  auto session = engine::Session::create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return out;
  engine::PrefillOptions options;
  options.on_logits = [&out](std::int64_t, std::span<const float> logits) {
    out.insert(out.end(), logits.begin(), logits.end());
    return Status();
  };
  std::int64_t done = 0;
  for (const std::int64_t size : pieces) {
    const std::span piece(ids.data() + done, static_cast<std::size_t>(size));
    const Status status = (*session)->prefill(piece, options);
    EXPECT_TRUE(status.ok()) << status.message();
    done += size;
  }
  EXPECT_EQ(done, kTokens);
  return out;
}

// The logits after the first `count` tokens, of which the head sees the last one alone.
std::vector<float> last_logits(std::shared_ptr<const engine::Model> model,
                               const std::vector<std::int32_t>& ids, std::int64_t count) {
  auto session = engine::Session::create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok()) return {};
  const Status status = (*session)->prefill({ids.data(), static_cast<std::size_t>(count)});
  EXPECT_TRUE(status.ok()) << status.message();
  return {(*session)->logits().begin(), (*session)->logits().end()};
}

void expect_equal(const std::vector<float>& got, const float* expected) {
  std::size_t differ = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    differ += std::memcmp(&got[i], expected + i, sizeof(float)) == 0 ? 0 : 1;
  EXPECT_EQ(differ, 0u) << "of " << got.size() << " logits";
}

// Into steps of which the head sees all tokens, and beginnings of which it sees the last alone.
struct Splits {
  std::vector<std::vector<std::int64_t>> pieces;
  std::vector<std::int64_t> beginnings;
};

void expect_same_bits(const std::string& folder, const Splits& splits) {
  const std::vector<std::int32_t> ids = text();
  for (const auto isa : kernels::simd::supported_isas()) {
    SCOPED_TRACE(kernels::simd::isa_name(isa));
    const auto model = load_model(folder, kernels::simd::isa_name(isa));
    ASSERT_NE(model, nullptr);
    const auto expected = logits_of(model, ids, std::vector<std::int64_t>(kTokens, 1));
    ASSERT_FALSE(expected.empty());
    const std::size_t vocab = expected.size() / kTokens;
    for (const auto& pieces : splits.pieces) {
      SCOPED_TRACE(fmt::format("first piece of {} of {}", pieces.front(), pieces.size()));
      const auto got = logits_of(model, ids, pieces);
      ASSERT_EQ(got.size(), expected.size());
      expect_equal(got, expected.data());
    }
    for (const std::int64_t count : splits.beginnings) {
      SCOPED_TRACE(fmt::format("the last of {}", count));
      const auto got = last_logits(model, ids, count);
      ASSERT_EQ(got.size(), vocab);
      expect_equal(got, expected.data() + static_cast<std::size_t>(count - 1) * vocab);
    }
  }
}

// All but phi3, whose keys are rotated for the length of the text: a text that grows is read again
// with others, so it has other numbers than the longer one had at the same position.
std::vector<Checkpoint> checkpoints_of_one_rope() {
  std::vector<Checkpoint> out;
  for (const Checkpoint& checkpoint : checkpoints_with_every_block())
    if (!checkpoint.name.starts_with("tiny_phi3")) out.push_back(checkpoint);
  return out;
}

void expect_same_bits(const Checkpoint& checkpoint, const CompileOptions& options,
                      const Splits& splits) {
  const TemporaryFolder folder;
  ASSERT_NE(compile_and_load(checkpoint, folder.file("artifact"), options), nullptr);
  expect_same_bits(folder.file("artifact"), splits);
}

class Widths : public ::testing::TestWithParam<Checkpoint> {};

TEST_P(Widths, EveryArchitectureGivesTheSameBits) {
  expect_same_bits(GetParam(), options_of("none"),
                   {{{kTokens}, {1, 59}, {33, 5, 1, 2, 19}, {20, 40}}, {2, 8, 31, 59}});
}

INSTANTIATE_TEST_SUITE_P(, Widths, ::testing::ValuesIn(checkpoints_of_one_rope()),
                         [](const auto& info) { return info.param.name; });

// A checkpoint whose sizes fill whole vectors, and one with convolutions and experts.
class WidthsOfForms : public ::testing::TestWithParam<const char*> {};

TEST_P(WidthsOfForms, EveryFormGivesTheSameBits) {
  const auto all = checkpoints_of_one_rope();
  const auto checkpoint = std::ranges::find(all, GetParam(), &Checkpoint::name);
  ASSERT_NE(checkpoint, all.end());
  const Splits splits = {{{kTokens}, {5, 1, 2, 52}}, {31}};
  for (const std::string_view recipe : recipe_names()) {
    SCOPED_TRACE(recipe);
    expect_same_bits(*checkpoint, options_of(recipe), splits);
  }
  CompileOptions floats = options_of("none");
  floats.precision = DType::kFp32;
  floats.tiers = {};
  CompileOptions flexible = options_of("int8");
  flexible.range_dim = true;
  flexible.draft_width = 0;
  CompileOptions flat = options_of("int4-block");
  flat.form.layout = artifact::HiddenLayout::kTokensInWidth;
  CompileOptions read_only = options_of("int8-channel");
  read_only.form.cache = artifact::CacheForm::kReadOnly;
  read_only.form.recurrent = artifact::RecurrentForm::kTensors;
  read_only.form.taps = artifact::TapsForm::kArithmetic;
  read_only.form.routing = artifact::RoutingForm::kArithmetic;
  read_only.form.logits = artifact::LogitsLayout::kLast;
  CompileOptions growing = read_only;
  growing.form.cache = artifact::CacheForm::kGrowing;
  growing.tiers = {};
  CompileOptions sliced = options_of("int8-channel");
  sliced.form.cache = artifact::CacheForm::kSlice;
  CompileOptions sliced_floats = floats;
  sliced_floats.form.cache = artifact::CacheForm::kSlice;
  // As Q6_K is kept.
  CompileOptions sixteen = options_of("int8-block");
  sixteen.recipe.quant.block_size = 16;
  for (const CompileOptions& options :
       {floats, flexible, flat, read_only, growing, sliced, sliced_floats, sixteen})
    expect_same_bits(*checkpoint, options, splits);
}

INSTANTIATE_TEST_SUITE_P(, WidthsOfForms, ::testing::Values("pocket", "tiny_lfm2_moe"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace anemone::compiler::testing

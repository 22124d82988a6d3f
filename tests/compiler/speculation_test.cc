// SPDX-License-Identifier: Apache-2.0
// Texts with proposals are those without, to the token, on every architecture and in every form
// whose steps take another way.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>

#include "engine/loop/engine.h"
#include "tests/compiler/golden.h"

namespace anemone::compiler::testing {
namespace {

using Ids = std::vector<std::int32_t>;

// Ids that every tokenizer here has.
constexpr std::uint32_t kIds = 50;
constexpr std::int64_t kTokens = 24;

// Knows how the texts go on, and is wrong about every fourth token.
class Oracle : public engine::Proposer {
 public:
  explicit Oracle(const std::deque<Ids>& texts) : texts_(texts) {}
  std::optional<int> look(std::span<const std::int32_t> ids) override {
    next_ = {};
    for (const Ids& text : texts_)
      if (text.size() > ids.size() && std::equal(ids.begin(), ids.end(), text.begin()))
        next_ = std::span(text).subspan(ids.size());
    return 0;
  }
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override {
    for (std::size_t i = 0; i < std::min(next_.size(), static_cast<std::size_t>(most)); ++i)
      tokens.push_back((next_.size() - i) % 4 == 0 ? 1 : next_[i]);
    return {};
  }

 private:
  const std::deque<Ids>& texts_;
  std::span<const std::int32_t> next_;
};

std::vector<engine::GenerateResult> texts_of(const std::shared_ptr<const engine::Model>& model,
                                             const std::deque<Ids>& prompts,
                                             engine::EngineOptions options) {
  options.sequences = 3;
  options.queue = prompts.size();
  engine::Engine engine(options);
  std::vector<engine::GenerateResult> out(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    engine::Request request;
    request.model = model;
    engine::Choice& choice = request.choices.emplace_back();
    choice.prompt = prompts[i];
    choice.options.max_new_tokens = kTokens;
    choice.options.ignore_eos = true;
    choice.options.as_text = false;
    choice.options.sampling.greedy = i % 2 == 0 || model->manifest().is_greedy();
    choice.options.sampling.seed = i;
    choice.on_end = [&out, i](Result<engine::GenerateResult> result) {
      EXPECT_TRUE(result.ok()) << result.status().message();
      if (result.ok()) out[i] = *std::move(result);
    };
    EXPECT_TRUE(engine.submit(std::move(request)).ok());
  }
  while (engine.counts().running + engine.counts().waiting > 0) engine.turn();
  return out;
}

void expect_same_texts(const Checkpoint& checkpoint, const CompileOptions& options,
                       std::size_t count, std::string_view isa = {}) {
  const std::string folder = compiled_folder(checkpoint, options);
  ASSERT_FALSE(folder.empty());
  const auto model = load_model(folder, isa);
  ASSERT_NE(model, nullptr);
  std::deque<Ids> prompts(count);
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t t = 0; t < 1 + i * 7 % 30; ++t) {
      seed = seed * 1664525 + 1013904223;
      prompts[i].push_back(static_cast<std::int32_t>((seed >> 8) % kIds));
    }
  const auto plain = texts_of(model, prompts, {});
  std::deque<Ids> texts = prompts;
  for (std::size_t i = 0; i < count; ++i)
    texts[i].insert(texts[i].end(), plain[i].ids.begin(), plain[i].ids.end());
  engine::EngineOptions oracle, ngrams;
  oracle.speculation.is_adaptive = false;
  oracle.speculation.make_proposer = [&texts]() -> Result<std::unique_ptr<engine::Proposer>> {
    return std::unique_ptr<engine::Proposer>(std::make_unique<Oracle>(texts));
  };
  ngrams.speculation.is_adaptive = false;
  ngrams.speculation.ngram = 3;
  std::int64_t accepted = 0, rejected = 0;
  for (const engine::EngineOptions& each : {oracle, ngrams}) {
    const auto got = texts_of(model, prompts, each);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[i].ids, plain[i].ids) << "text " << i;
      accepted += got[i].timing.accepted_tokens;
      rejected += got[i].timing.proposed_tokens - got[i].timing.accepted_tokens;
    }
  }
  if (model->keeps_recurrent_states()) {
    EXPECT_EQ(accepted + rejected, 0) << "nothing is proposed where nothing can be taken back";
  } else {
    EXPECT_GT(accepted, static_cast<std::int64_t>(count) * 6) << "or nothing was tested";
    EXPECT_GT(rejected, static_cast<std::int64_t>(count)) << "or nothing was tested";
  }
}

CompileOptions options_of(std::string_view recipe) {
  CompileOptions options;
  options.recipe = *parse_recipe(recipe);
  options.recipe.quant.threshold = 0;
  options.context = 64;
  options.tiers = {24};
  options.prefill = 32;
  return options;
}

class SpeculationOn : public ::testing::TestWithParam<Checkpoint> {};

TEST_P(SpeculationOn, EveryArchitectureTextsAreTheSame) {
  expect_same_texts(GetParam(), options_of("none"), 6);
}

INSTANTIATE_TEST_SUITE_P(, SpeculationOn, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

TEST(SpeculationInForms, TextsOfThePocketModelAreTheSame) {
  const auto all = checkpoints();
  const auto pocket = std::ranges::find(all, "pocket", &Checkpoint::name);
  ASSERT_NE(pocket, all.end());
  expect_same_texts(*pocket, options_of("int8-channel"), 60);
  CompileOptions floats = options_of("none");
  floats.precision = DType::kFp32;
  floats.tiers = {};
  CompileOptions flexible = options_of("int8");
  flexible.range_dim = true;
  CompileOptions read_only = options_of("int8-channel");
  read_only.form.cache = artifact::CacheForm::kReadOnly;
  CompileOptions growing = read_only;
  growing.form.cache = artifact::CacheForm::kGrowing;
  growing.tiers = {};
  CompileOptions sliced = options_of("int4-block");
  sliced.form.cache = artifact::CacheForm::kSlice;
  CompileOptions argmax = options_of("int8-channel");
  argmax.form.head = artifact::HeadForm::kArgmax;
  argmax.draft_width = 8;
  for (const CompileOptions& options : {floats, flexible, read_only, growing, sliced, argmax})
    expect_same_texts(*pocket, options, 8);
  // One run of a wider function takes all tokens there.
  expect_same_texts(*pocket, argmax, 4, "reference");
  expect_same_texts(*pocket, options_of("int8-channel"), 4, "reference");
}

}  // namespace
}  // namespace anemone::compiler::testing

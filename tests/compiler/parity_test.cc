// SPDX-License-Identifier: Apache-2.0
// Checkpoint -> packages -> logits, against transformers.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <span>

#include "ane/form.h"
#include "artifact/manifest.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// Rounding to fp16 moves a position by less than this without changing where its token goes. One
// that moved farther went through other experts: two scores at the edge of the choice lie closer
// together than fp16 tells apart, and transformers in fp16 differs from itself in fp32 in the same
// way.
constexpr double kOtherExperts = 0.999;
constexpr double kMaxOtherExperts = 0.1;  // of all positions

struct Cosines {
  double median = 0;
  double mean = 0;
  double lowest = 0;
  std::size_t count = 0;
  std::size_t other_experts = 0;    // positions below kOtherExperts
  double mean_of_same_experts = 0;  // of the others
};

// Cosine of the logits of each position with the golden ones.
Cosines cosines(const std::vector<float>& got, const std::vector<float>& wanted,
                std::size_t vocab_size) {
  std::vector<double> all;
  for (std::size_t row = 0; row + vocab_size <= wanted.size(); row += vocab_size) {
    const auto row_of = [&](const std::vector<float>& logits) {
      return std::span(logits).subspan(row, vocab_size);
    };
    all.push_back(anemone::testing::cosine(row_of(got), row_of(wanted)));
  }
  std::sort(all.begin(), all.end());
  const auto same = std::ranges::lower_bound(all, kOtherExperts);
  const auto mean = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
  };
  return {.median = all[all.size() / 2],
          .mean = mean(all.begin(), all.end()),
          .lowest = all.front(),
          .count = all.size(),
          .other_experts = static_cast<std::size_t>(same - all.begin()),
          .mean_of_same_experts = mean(same, all.end())};
}

class Parity : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
    ASSERT_EQ(golden_.logits.size(), golden_.prompt.size() * golden_.vocab_size);
    ASSERT_FALSE(golden_.logits.empty());
  }

  // Logits as the packages give them; empty after a failure. The interpreter's time is in the
  // context: it is just wide enough for every prompt with its continuation.
  Answer run(CompileOptions options) {
    options.context = 128;
    auto model = compiled_model(GetParam(), options);
    if (model == nullptr) return {};
    layers_ = model->manifest().layers;
    packs_ = 0;
    for (const artifact::Shard& shard : model->manifest().shards)
      if (shard.experts) packs_ += shard.experts->packs.size();
    cuts_ = std::ranges::count_if(model->manifest().shards, [](const artifact::Shard& shard) {
      return shard.layers.part_end != 0;
    });
    Answer answer = run_greedily(std::move(model), golden_.prompt, golden_.continuation.size());
    EXPECT_EQ(answer.logits.size(), golden_.logits.size());
    return answer;
  }

  void report(const std::string& name, const Cosines& value) {
    RecordProperty(name + "_cosine_median", std::to_string(value.median));
    RecordProperty(name + "_cosine_mean", std::to_string(value.mean));
    RecordProperty(name + "_cosine_lowest", std::to_string(value.lowest));
    std::printf("%s %s: cosine median %.6f, mean %.6f, lowest %.6f\n", GetParam().name.c_str(),
                name.c_str(), value.median, value.mean, value.lowest);
  }

  Golden golden_;
  std::int64_t layers_ = 0;  // of the last model that ran
  std::int64_t cuts_ = 0;    // shards of it that end inside a layer
  std::size_t packs_ = 0;    // packages of experts
};

// The tiny checkpoints have no matrix that is large enough to be quantized.
class QuantizedParity : public Parity {
 public:
  static std::vector<Checkpoint> checkpoints_that_are_quantized() {
    std::vector<Checkpoint> all = checkpoints();
    std::erase_if(all, [](const Checkpoint& each) { return each.name.starts_with("tiny_"); });
    return all;
  }
};

// Forms that give the same bits: larger models would take the same paths.
class ExactParity : public Parity {};
class ExpertsParity : public Parity {};

TEST_P(Parity, EveryFormInFp32GivesTheGoldenLogitsAndTokens) {
  for (const ane::NamedForm& named : ane::named_forms()) {
    SCOPED_TRACE(named.name);
    expect_golden(run({.precision = DType::kFp32,
                       .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
                       .form = named.form}),
                  golden_);
  }
}

// The bounds of the next tests are on the angle, since fp16 rounds relative to the magnitude.
TEST_P(Parity, EveryFormInFp16StaysCloseToTheGoldenLogits) {
  for (const ane::NamedForm& named : ane::named_forms()) {
    SCOPED_TRACE(named.name);
    const Answer answer =
        run({.recipe = {.quant = {.scheme = quant::Scheme::kNone}}, .form = named.form});
    ASSERT_EQ(answer.logits.size(), golden_.logits.size());
    const Cosines value = cosines(answer.logits, golden_.logits, golden_.vocab_size);
    report(fmt::format("fp16 {}", named.name), value);
    EXPECT_GE(value.median, 0.9999);
    if (!has_experts(GetParam())) {
      EXPECT_GE(value.mean, 0.999);
      continue;
    }
    std::printf("%s fp16: other experts at %zu of %zu positions\n", GetParam().name.c_str(),
                value.other_experts, value.count);
    EXPECT_GE(value.mean_of_same_experts, 0.999);
    EXPECT_LE(static_cast<double>(value.other_experts),
              kMaxOtherExperts * static_cast<double>(value.count));
  }
}

struct QuantizedForm {
  const char* name;
  Recipe recipe;
  double least_median;
  artifact::Form form = {};
};

// What random normal weights lose, the worst case since nothing in them is redundant. Relative
// noise per matrix, from the rounding error of a normal distribution: int8 has 127 steps to the
// largest weight, at 4 standard deviations: 1 %; a block of 32 has its largest at 2.4: 0.5 % with
// int8, 10 % with int4. The best 2^n levels (Max 1960) have 10 % at 4 bits, 2.6 % at 6, 0.7 % at 8.
// Some twenty matrices in a row each take half the square of it off the cosine; the bounds leave
// three times that.
const QuantizedForm kForms[] = {
    {"int8", {.quant = {.scheme = quant::Scheme::kInt8}}, 0.995},
    {"int8-channel", {.quant = {.scheme = quant::Scheme::kInt8Channel}}, 0.997},
    {"int8-block", {.quant = {.scheme = quant::Scheme::kInt8Block}}, 0.999},
    {"int4-block", {.quant = {.scheme = quant::Scheme::kInt4Block}}, 0.7},
    {"lut4", {.quant = {.scheme = quant::Scheme::kLut4}}, 0.7},
    {"lut6", {.quant = {.scheme = quant::Scheme::kLut6}}, 0.98},
    {"lut8", {.quant = {.scheme = quant::Scheme::kLut8}}, 0.998},
    {"lut8 uniform of a matrix",
     {.quant = {.scheme = quant::Scheme::kLut8,
                .palette_mode = quant::PaletteMode::kUniform,
                .group_size = 0}},
     0.99},
    {"mixed", *parse_recipe("mixed"), 0.7},
    {"auto", *parse_recipe("auto", Processor::kAne), 0.98, ane::named_forms().front().form},
};

// At 6 bits every second position of a random model with experts is sent through other experts in
// some layer, so that the median may be one of those: of 4 experts a token, one that is replaced by
// the next best has less than a quarter of the weights of its layer.
constexpr double kLeastWithOtherExperts = 0.9;

TEST_P(QuantizedParity, StaysNearTheGoldenLogits) {
  for (const QuantizedForm& form : kForms) {
    const Answer answer = run({.recipe = form.recipe, .form = form.form});
    ASSERT_EQ(answer.logits.size(), golden_.logits.size()) << form.name;
    const Cosines value = cosines(answer.logits, golden_.logits, golden_.vocab_size);
    report(form.name, value);
    const bool may_flip =
        has_experts(GetParam()) && form.recipe.quant.scheme == quant::Scheme::kLut6;
    EXPECT_GE(value.median, may_flip ? kLeastWithOtherExperts : form.least_median) << form.name;
  }
}

// A chunk of T tokens has its own padding, masks and cache writes: every form of a prompt must give
// the bits of every other.
TEST_P(ExactParity, PrefillInChunksEqualsOnePassBitwise) {
  const CompileOptions exact = {.precision = DType::kFp32,
                                .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};
  struct Widths {
    std::int64_t prefill;
    std::int64_t verify;
  };
  // Packages with states are compiled only with the widths that leave a rest in the last chunk.
  const std::pair<CompileOptions, std::vector<Widths>> bases[] = {
      {exact, {{64, 0}, {1, 0}, {7, 0}, {64, 8}, {16, 3}}},
      {CompileOptions(), {{64, 0}, {7, 0}, {16, 3}}}};
  for (const auto& [base, widths] : bases) {
    std::vector<float> one_pass;
    for (const auto [prefill, verify] : widths) {
      CompileOptions options = base;
      options.prefill = prefill;
      options.draft_width = verify;
      const Answer answer = run(options);
      ASSERT_FALSE(answer.logits.empty());
      if (one_pass.empty())
        one_pass = answer.logits;
      else
        EXPECT_TRUE(answer.logits == one_pass) << "prefill " << prefill << ", verify " << verify;
    }
  }
}

TEST_P(ExactParity, ShardsGiveTheBitsOfOnePackage) {
  CompileOptions options;
  options.packages.layers = "1";
  const Answer whole = run(options);
  options.packages.layers = std::to_string(std::min<std::int64_t>(layers_, 3));
  EXPECT_TRUE(run(options).logits == whole.logits);
}

// A budget below every part of a layer gives each a package of its own, others cut in between.
TEST_P(ExpertsParity, LayersThatAreCutGiveTheBitsOfOnePackage) {
  CompileOptions exact = {.precision = DType::kFp32,
                          .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};
  struct Form {
    artifact::HiddenLayout layout;
    bool is_flexible;
    const char* size;
  };
  const Form smallest = {artifact::HiddenLayout::kTokensInHeight, false, "1KB"};
  const Form small = {artifact::HiddenLayout::kTokensInHeight, false, "4KB"};
  const Form flexible = {artifact::HiddenLayout::kTokensInWidth, true, "4KB"};
  // Packages with the end of one layer and the begin of the next: their caches are one state.
  const Form spanning = {artifact::HiddenLayout::kTokensInHeight, false, "8KB"};
  CompileOptions packed;
  packed.form.cache = artifact::CacheForm::kSlice;
  // The place where a layer is cut does not depend on the kind of caches otherwise.
  const std::pair<CompileOptions, std::vector<Form>> bases[] = {
      {exact, {smallest, flexible}}, {CompileOptions(), {small, flexible}}, {packed, {spanning}}};
  for (const auto& [base, forms] : bases) {
    CompileOptions options = base;
    options.prefill = 16;
    options.packages.layers = "1";
    const Answer whole = run(options);
    ASSERT_FALSE(whole.logits.empty());
    for (const Form& form : forms) {
      options.form.layout = form.layout;
      options.range_dim = form.is_flexible;
      options.packages.layers = form.size;
      const Answer cut = run(options);
      EXPECT_GT(cuts_, 0) << form.size;
      EXPECT_TRUE(cut.logits == whole.logits) << form.size;
      EXPECT_EQ(cut.continuation, whole.continuation) << form.size;
    }
  }
}

// The host adds up what the experts give, in the order in which the graph does.
TEST_P(ExpertsParity, PacksOfExpertsGiveTheNumbersOfOneGraph) {
  struct Form {
    artifact::HiddenLayout layout;
    bool is_flexible;
    std::int64_t verify;
    const char* shards;
  };
  const Form forms[] = {{artifact::HiddenLayout::kTokensInHeight, false, 3, "auto"},
                        {artifact::HiddenLayout::kTokensInWidth, true, 0, "4KB"}};
  for (const Form& form : forms) {
    CompileOptions options = {.precision = DType::kFp32,
                              .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};
    options.prefill = 16;
    options.draft_width = form.verify;
    const Answer dense = run(options);
    ASSERT_FALSE(dense.logits.empty());
    options.form.experts = artifact::ExpertsForm::kPacks;
    options.packages = ane::plan_of_shards(form.shards);
    options.form.layout = form.layout;
    options.range_dim = form.is_flexible;
    const Answer packs = run(options);
    EXPECT_GT(packs_, 0);
    EXPECT_TRUE(packs.logits == dense.logits) << form.shards;
    EXPECT_EQ(packs.continuation, dense.continuation) << form.shards;

    options.precision = DType::kFp16;
    const Answer half = run(options);
    const Cosines value = cosines(half.logits, golden_.logits, golden_.vocab_size);
    report("fp16 packs", value);
    EXPECT_GE(value.median, 0.9999);
    EXPECT_LE(static_cast<double>(value.other_experts),
              kMaxOtherExperts * static_cast<double>(value.count));
  }
}

TEST(PacksOfExperts, AreRefusedWhereTheyDoNotFitTheManifest) {
  const auto all = checkpoints();
  const Checkpoint& moe = *std::ranges::find(all, "tiny_lfm2_moe", &Checkpoint::name);
  const TemporaryFolder folder;
  const std::string path = folder.file("artifact");
  CompileOptions options;
  options.form.experts = artifact::ExpertsForm::kPacks;
  options.context = 16;
  const auto model = compile_and_load(moe, path, options);
  ASSERT_NE(model, nullptr);
  const artifact::Manifest good = model->manifest();
  const auto load = [&](void (*change)(artifact::Shard&)) {
    artifact::Manifest changed = good;
    const auto shard = std::ranges::find_if(
        changed.shards, [](const artifact::Shard& each) { return each.experts.has_value(); });
    change(*shard);
    EXPECT_TRUE(artifact::write_manifest(path, changed).ok());
    return engine::Model::load(path, executor()).status();
  };
  const Status width = load([](artifact::Shard& shard) { shard.experts->widths = {1, 3}; });
  EXPECT_EQ(width.code(), Code::kCorrupt);
  EXPECT_NE(width.message().find("expected a function \"expert_0_3\""), std::string::npos);
  const Status output = load([](artifact::Shard& shard) { shard.experts->weights = "absent"; });
  EXPECT_EQ(output.code(), Code::kCorrupt);
  EXPECT_NE(output.message().find("\"absent\""), std::string::npos);
  const Status package =
      load([](artifact::Shard& shard) { shard.experts->packs[0].package = "absent.mlpackage"; });
  EXPECT_FALSE(package.ok());
  EXPECT_NE(package.message().find("absent.mlpackage"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, ExpertsParity, ::testing::ValuesIn(tiny_checkpoints_with_experts()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, ExactParity, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, Parity, ::testing::ValuesIn(checkpoints()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(, QuantizedParity,
                         ::testing::ValuesIn(QuantizedParity::checkpoints_that_are_quantized()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing

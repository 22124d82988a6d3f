// SPDX-License-Identifier: Apache-2.0
// The hidden state after the final norm, against transformers.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ane/form.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "engine/session/session.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// As for logits (golden.cc): fp32 sums in another order.
constexpr float kHiddenTolerance = 2e-3F;

class Embed : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
  }

  static CompileOptions portable(DType precision) {
    CompileOptions options;
    options.precision = precision;
    options.recipe.quant.scheme = quant::Scheme::kNone;
    options.form = ane::named_forms().front().form;
    options.context = 128;
    options.prefill = 16;
    return options;
  }
  // hidden.<layers>: the last of transformers' output_hidden_states, [T, hidden_size].
  std::vector<float> golden_hidden(std::int64_t layers) const {
    const auto file = checkpoint::SafetensorsFile::open(
        GetParam().name == "pocket"
            ? anemone::testing::source_path("tests/compiler/data/pocket_golden.safetensors")
            : GetParam().path + "/golden.safetensors");
    EXPECT_TRUE(file.ok()) << file.status().message();
    if (!file.ok()) return {};
    const checkpoint::WeightRef* hidden = (*file)->find(fmt::format("hidden.{}", layers));
    if (hidden == nullptr) return {};
    std::vector<float> values(static_cast<std::size_t>(hidden->view().size()));
    checkpoint::read_floats(*hidden, 0, values);
    return values;
  }
  // The hidden states of the prompt, in calls of at most `step` tokens.
  std::vector<float> hidden_of(const std::shared_ptr<const engine::Model>& model,
                               std::size_t step) const {
    std::vector<float> out;
    auto session = engine::Session::create(model);
    EXPECT_TRUE(session.ok()) << session.status().message();
    if (!session.ok()) return out;
    std::int64_t next = 0;
    engine::PrefillOptions options;
    options.on_hidden = [&](std::int64_t position, std::span<const float> hidden) -> Status {
      EXPECT_EQ(position, next++);
      out.insert(out.end(), hidden.begin(), hidden.end());
      return {};
    };
    for (std::span<const std::int32_t> rest = golden_.prompt; !rest.empty();) {
      const auto ids = rest.first(std::min(step, rest.size()));
      const Status status = (*session)->prefill(ids, options);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE((*session)->logits().empty());
      rest = rest.subspan(ids.size());
    }
    return out;
  }

  Golden golden_;
};

TEST_P(Embed, GivesTheHiddenStatesOfTransformers) {
  const auto model = compiled_model(GetParam(), portable(DType::kFp32));
  ASSERT_NE(model, nullptr);
  const std::vector<float> expected = golden_hidden(model->manifest().layers);
  if (expected.empty()) {
    ASSERT_TRUE(GetParam().is_shared) << "all in the tree have hidden states";
    GTEST_SKIP() << "no hidden states are recorded: " << GetParam().name;
  }
  const std::vector<float> got = hidden_of(model, golden_.prompt.size());
  ASSERT_EQ(got.size(), expected.size());
  float worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - expected[i]));
  EXPECT_LE(worst, kHiddenTolerance);
}

// On the fast path: alone, in part of a step and in whole steps, with logits and without.
TEST_P(Embed, GivesTheSameBitsInStepsOfAnyWidth) {
  const std::string folder = compiled_folder(GetParam(), portable(DType::kFp16));
  const auto model = load_model(folder);
  ASSERT_NE(model, nullptr);
  // A text that outgrows this length is rotated by other frequencies from its beginning, once it is
  // read so far.
  for (const artifact::Rope& rope : model->manifest().ropes)
    if (rope.short_length != 0)
      golden_.prompt.resize(
          std::min(golden_.prompt.size(), static_cast<std::size_t>(rope.short_length)));
  const std::vector<float> whole = hidden_of(model, golden_.prompt.size());
  ASSERT_EQ(whole.size(),
            golden_.prompt.size() * static_cast<std::size_t>(model->manifest().hidden_size));
  EXPECT_TRUE(hidden_of(model, 1) == whole);
  EXPECT_TRUE(hidden_of(model, 5) == whole);

  auto session = engine::Session::create(model);
  ASSERT_TRUE(session.ok()) << session.status().message();
  std::vector<float> beside_logits;
  std::size_t logits = 0;
  engine::PrefillOptions options;
  options.on_logits = [&](std::int64_t, std::span<const float>) -> Status {
    ++logits;
    return {};
  };
  options.on_hidden = [&](std::int64_t, std::span<const float> hidden) -> Status {
    beside_logits.insert(beside_logits.end(), hidden.begin(), hidden.end());
    return {};
  };
  for (int run = 0; run < 2; ++run) {  // nothing of the first run is kept
    beside_logits.clear();
    logits = 0;
    ASSERT_TRUE((*session)->prefill_to(golden_.prompt, options).ok());
    EXPECT_TRUE(beside_logits == whole);
    EXPECT_EQ(logits, golden_.prompt.size());
  }
}

// What requests for embeddings give: the states of transformers, pooled by hand.
TEST_P(Embed, GivesTheEmbeddingsOfTransformersThroughTheEngine) {
  const auto model = compiled_model(GetParam(), portable(DType::kFp32));
  ASSERT_NE(model, nullptr);
  const std::vector<float> states = golden_hidden(model->manifest().layers);
  if (states.empty()) {
    ASSERT_TRUE(GetParam().is_shared) << "all in the tree have hidden states";
    GTEST_SKIP() << "no hidden states are recorded: " << GetParam().name;
  }
  const auto columns = static_cast<std::size_t>(model->manifest().hidden_size);
  const std::size_t tokens = golden_.prompt.size();
  engine::Engine engine({});
  for (const engine::Pooling pooling : {engine::Pooling::kLast, engine::Pooling::kMean}) {
    std::vector<double> expected(columns);
    const std::size_t first = pooling == engine::Pooling::kLast ? tokens - 1 : 0;
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t t = first; t < tokens; ++t)
        expected[c] += static_cast<double>(states[t * columns + c]);
      squares += expected[c] * expected[c];
    }
    // The same text beside another one, which is read in the same step.
    const auto got =
        engine::embed(engine, model, {golden_.prompt, {1, 2}, golden_.prompt}, pooling, {});
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_EQ(got->size(), 3U);
    EXPECT_TRUE((*got)[0] == (*got)[2]) << "the same bits";
    ASSERT_EQ((*got)[0].size(), columns);
    for (std::size_t c = 0; c < columns; ++c)
      EXPECT_NEAR((*got)[0][c], expected[c] / std::sqrt(squares), kHiddenTolerance);
  }
}

std::vector<Checkpoint> checkpoints_with_whole_prompts() {
  std::vector<Checkpoint> all = checkpoints();
  std::erase_if(all, [](const Checkpoint& each) { return !each.suffix.empty(); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(, Embed, ::testing::ValuesIn(checkpoints_with_whole_prompts()),
                         [](const auto& info) { return info.param.name; });

TEST(EmbedOfAnotherShape, IsCorrupt) {
  const TemporaryFolder folder;
  CompileOptions options;
  options.form.embed = artifact::EmbedForm::kPackage;
  const std::string output = folder.file("artifact");
  ASSERT_NE(compile_and_load(checkpoints_in_the_tree().front(), output, options), nullptr);
  for (const auto& [member, name] : {std::pair("input", "other"), std::pair("output", "other"),
                                     std::pair("package", "head_1.mlpackage")}) {
    const std::string path = output + "/manifest.json";
    const auto good = read_json_file(path);
    ASSERT_TRUE(good.ok());
    Json changed = *good;
    changed["embed"][member] = name;
    ASSERT_TRUE(write_file(path, dump_json(changed)).ok());
    const Status status = engine::Model::load(output, executor()).status();
    EXPECT_FALSE(status.ok()) << member;
    if (std::string_view(member) != "package") {
      EXPECT_EQ(status.code(), Code::kCorrupt);
    }
    ASSERT_TRUE(write_file(path, dump_json(*good)).ok());
  }
}

TEST(EmbedOfOtherForms, IsRefused) {
  const TemporaryFolder folder;
  const auto model =
      compile_and_load(checkpoints_in_the_tree().front(), folder.file("artifact"), {});
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->manifest().embed.has_value());
  auto session = engine::Session::create(model);
  ASSERT_TRUE(session.ok()) << session.status().message();
  engine::PrefillOptions options;
  options.on_hidden = [](std::int64_t, std::span<const float>) { return Status(); };
  const std::vector<std::int32_t> ids = {1, 2};
  const Status status = (*session)->prefill(ids, options);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("hidden states"), std::string::npos);
  EXPECT_EQ((*session)->position(), 0);
}

}  // namespace
}  // namespace anemone::compiler::testing

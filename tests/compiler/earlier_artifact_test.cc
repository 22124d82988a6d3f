// SPDX-License-Identifier: Apache-2.0
// Artifacts that an earlier version compiled still run, and give what they gave then.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "engine/model/model.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;

// data/earlier/lfm2_moe is data/tiny/lfm2_moe by `anemone 0.1.0 compile --experts packs --context
// 32
// --prefill 4`. Its packages and its manifest have words that the code has left since: "tail_mask",
// "running" caches, experts that are "chosen". The logits beside it are what that version wrote
// with `run --prompt-ids "5 6 7 8 9 10 11" --max-new 12 --greedy --logits-out`.
TEST(EarlierArtifact, GivesTheSameLogitsAndTokens) {
  const std::string folder = source_path("tests/compiler/data/earlier/");
  engine::ModelLoadOptions load;
  load.load_text = false;
  load.check_hashes = true;
  auto model = engine::Model::load(folder + "lfm2_moe", executor(), load);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ((*model)->check_gives_hidden().code(), Code::kUnsupported);
  const auto file = checkpoint::SafetensorsFile::open(folder + "lfm2_moe_logits.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const checkpoint::WeightRef* recorded = (*file)->find("logits");
  ASSERT_NE(recorded, nullptr);
  std::vector<float> wanted(static_cast<std::size_t>(recorded->view().size()));
  checkpoint::read_floats(*recorded, 0, wanted);

  const Answer answer = run_greedily(*model, {5, 6, 7, 8, 9, 10, 11}, 12);
  const std::vector<std::int32_t> ids = {19, 32, 29, 36, 37, 47, 37, 24, 21, 30, 12, 47};
  EXPECT_EQ(answer.continuation, ids);
  ASSERT_EQ(answer.logits.size(), wanted.size());
  // Another instruction set adds in another order, so that a value may be rounded to the other of
  // two neighbours in fp16, 2^-10 apart: some 10 times one after the other in three layers.
  const float largest =
      std::abs(*std::ranges::max_element(wanted, {}, [](float logit) { return std::abs(logit); }));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(answer.logits[i], wanted[i], 10 * largest / 1024) << "logit " << i;
}

}  // namespace
}  // namespace anemone::compiler::testing

// SPDX-License-Identifier: Apache-2.0
// What an observer of the engine is told of a text.
#include "engine/session/step_observer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::ScriptedModel;

// Writes down what it is told, "(" and ")" around what lies inside.
class Notes : public StepObserver {
 public:
  void step_begins(bool is_prompt) override { text += is_prompt ? "prompt(" : "decode("; }
  void step_ends(std::int64_t tokens) override { text += std::to_string(tokens) + ") "; }
  void phase_begins(StepPhase phase) override {
    static constexpr const char* kNames[kStepPhases.size()] = {"propose", "embed", "layers",
                                                               "heads", "sample"};
    text += std::string(kNames[static_cast<std::size_t>(phase)]) + "(";
  }
  void phase_ends() override { text += ") "; }
  exec::RunTimes* run_begins(std::string_view package, std::string_view function) override {
    packages.emplace_back(package);
    functions.emplace_back(function);
    text += "run";
    return nullptr;
  }
  void run_ends() override { text += "."; }

  std::string text;
  std::vector<std::string> packages;
  std::vector<std::string> functions;
};

Result<GenerateResult> generate_observed(const ScriptedModel& scripted, StepObserver* observer,
                                         std::vector<std::int32_t> prompt,
                                         const GenerateOptions& options) {
  Engine engine({.observer = observer});
  return generate(engine, scripted.model(), std::move(prompt), options);
}

TEST(StepObserver, IsToldOfEachStepAndItsPhases) {
  const ScriptedModel scripted;
  GenerateOptions options;
  options.max_new_tokens = 2;
  options.ignore_eos = true;
  Notes notes;
  const auto observed = generate_observed(scripted, &notes, {1, 2, 3}, options);
  ASSERT_TRUE(observed.ok()) << observed.status().message();
  EXPECT_EQ(notes.text,
            "prompt(embed() layers(run.) heads(run.) sample() 3) "
            "decode(embed() layers(run.) heads(run.) sample() 1) ");
  ASSERT_EQ(notes.packages.size(), 4U);
  EXPECT_EQ(notes.packages[0], scripted.model()->manifest().shards[0].package);
  EXPECT_EQ(notes.packages[1], scripted.model()->head_packages()[0].front().package);
  EXPECT_EQ(notes.functions[1], notes.functions[3]) << "the head of one token";
  const auto alone = generate_observed(scripted, nullptr, {1, 2, 3}, options);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->ids, observed->ids);
}

TEST(StepObserver, APromptOfOneTokenIsAPromptToo) {
  const ScriptedModel scripted;
  GenerateOptions options;
  options.max_new_tokens = 1;
  Notes notes;
  ASSERT_TRUE(generate_observed(scripted, &notes, {1}, options).ok());
  EXPECT_TRUE(notes.text.starts_with("prompt(")) << notes.text;
  EXPECT_EQ(notes.text.find("decode("), std::string::npos) << notes.text;
}

TEST(StepObserver, IsToldTheEndOfWhatFails) {
  const ScriptedModel scripted;
  GenerateOptions options;
  options.on_piece = [](const TextPiece&) { return Status(Code::kIo, "no room"); };
  Notes notes;
  EXPECT_EQ(generate_observed(scripted, &notes, {1, 2, 3}, options).status().code(), Code::kIo);
  EXPECT_EQ(std::count(notes.text.begin(), notes.text.end(), '('),
            std::count(notes.text.begin(), notes.text.end(), ')'));
  EXPECT_TRUE(notes.text.ends_with("sample() 3) ")) << notes.text;
}

}  // namespace
}  // namespace anemone::engine

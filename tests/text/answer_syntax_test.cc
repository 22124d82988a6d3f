// SPDX-License-Identifier: Apache-2.0
#include "text/tools/answer_syntax.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone::text {
namespace {

using SyntaxOfTemplate = std::pair<const char*, CallSyntax>;

void expect_syntaxes(const std::string& folder, std::span<const SyntaxOfTemplate> templates) {
  for (const auto& [name, syntax] : templates) {
    const auto text = read_file(fmt::format("{}/{}.jinja", folder, name), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(find_answer_syntax(*text, nullptr).calls, syntax) << name;
    EXPECT_TRUE(syntax == CallSyntax::kNone || takes_tools(*text)) << name;
  }
}

TEST(AnswerSyntax, IsFoundInTheTemplatesOfTheTree) {
  const SyntaxOfTemplate kTemplates[] = {
      {"Qwen-Qwen2.5-7B-Instruct", CallSyntax::kHermes},
      {"Qwen-Qwen3-0.6B", CallSyntax::kHermes},
      {"ibm-granite-granite-3.3-2B-Instruct", CallSyntax::kJsonList},
  };
  expect_syntaxes(anemone::testing::source_path("tests/text/data/chat-templates"), kTemplates);
}

TEST(AnswerSyntax, IsFoundInTheTemplatesOfTheFamilies) {
  const auto folder = anemone::testing::shared_path("data/chat-templates");
  if (!folder) GTEST_SKIP() << "no shared data";
  const SyntaxOfTemplate kTemplates[] = {
      {"Qwen-Qwen2.5-7B-Instruct", CallSyntax::kHermes},
      {"Qwen-Qwen3-0.6B", CallSyntax::kHermes},
      {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", CallSyntax::kHermes},
      {"Qwen3-Coder", CallSyntax::kQwenXml},
      {"Qwen3.5-4B", CallSyntax::kQwenXml},
      {"meta-llama-Llama-3.1-8B-Instruct", CallSyntax::kLlama},
      {"meta-llama-Llama-3.2-3B-Instruct", CallSyntax::kLlama},
      {"mistralai-Mistral-Nemo-Instruct-2407", CallSyntax::kMistralList},
      {"Mistral-Small-3.2-24B-Instruct-2506", CallSyntax::kMistralNamed},
      {"ibm-granite-granite-3.3-2B-Instruct", CallSyntax::kJsonList},
      {"microsoft-Phi-4-mini-instruct", CallSyntax::kJsonList},
      {"openai-gpt-oss-120b", CallSyntax::kHarmony},
      {"google-gemma-4-31B-it", CallSyntax::kGemma},
      {"LFM2-8B-A1B", CallSyntax::kPython},
      {"LFM2.5-8B-A1B", CallSyntax::kPython},
      {"google-gemma-3", CallSyntax::kNone},
      {"GLM-4.6", CallSyntax::kNone},
      {"MiniMax-M2", CallSyntax::kNone},
      {"tencent-Hy-MT-1.8B", CallSyntax::kNone},
      {"microsoft-Phi-3.5-mini-instruct", CallSyntax::kNone},
  };
  expect_syntaxes(*folder, kTemplates);
}

TEST(AnswerSyntax, KnowsWhereThePromptOpensTheReasoning) {
  const AnswerSyntax thinks = find_answer_syntax("{{ '<think>' }}...</think>", nullptr);
  EXPECT_TRUE(thinks.has_reasoning());
  EXPECT_TRUE(opens_reasoning(thinks, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(opens_reasoning(thinks, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(opens_reasoning(find_answer_syntax("{{ messages }}", nullptr), "<think>"));
}

}  // namespace
}  // namespace anemone::text

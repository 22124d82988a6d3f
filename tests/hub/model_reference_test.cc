// SPDX-License-Identifier: Apache-2.0
#include "hub/model_reference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/hub/fake_hub.h"

namespace anemone::hub {
namespace {

std::string read(std::string_view text) {
  const auto reference = parse_model_reference(text);
  if (!reference) return "none";
  return fmt::format("{} {} {}", reference->repo.text(), reference->revision, reference->variant);
}

TEST(ModelReference, IsANameAVariantOrAnAddress) {
  EXPECT_EQ(read("Owner/Model"), "Owner/Model main ");
  EXPECT_EQ(read("Owner/Model-1.5:Q4_K_M"), "Owner/Model-1.5 main Q4_K_M");
  EXPECT_EQ(read("https://huggingface.co/Owner/Model"), "Owner/Model main ");
  EXPECT_EQ(read("https://huggingface.co/Owner/Model/"), "Owner/Model main ");
  EXPECT_EQ(read("huggingface.co/Owner/Model?x=1#readme"), "Owner/Model main ");
  EXPECT_EQ(read("hf.co/Owner/Model:Q8_0"), "Owner/Model main Q8_0");
  EXPECT_EQ(read("hf://Owner/Model"), "Owner/Model main ");
  EXPECT_EQ(read("https://huggingface.co/Owner/Model/tree/v1.1"), "Owner/Model v1.1 ");
  EXPECT_EQ(read("https://huggingface.co/Owner/Model/blob/main/a/m-Q4_0.gguf"),
            "Owner/Model main a/m-Q4_0.gguf");
  const testing::Variable endpoint("HF_ENDPOINT", "http://127.0.0.1:9");
  EXPECT_EQ(read("http://127.0.0.1:9/Owner/Model"), "Owner/Model main ");
}

TEST(ModelReference, IsNothingElse) {
  for (const char* text :
       {"", "model", "a/b/c", "/Owner/Model", "./Owner/Model", "Owner/", "Owner/Model:",
        "Owner/Model:a/b", "https://example.com/Owner/Model", "https://huggingface.co/Owner",
        "https://huggingface.co/Owner/Model/discussions", "Owner/..", "Owner/Model:..\n"})
    EXPECT_EQ(read(text), "none") << text;
}

TEST(GgufVariants, AreWhatTheNamesEndWith) {
  const std::vector<std::string> files = {"README.md", "m-Q4_K_M-00001-of-00002.gguf",
                                          "m-Q4_K_M-00002-of-00002.gguf", "m.Q8_0.gguf",
                                          "sub/m-f16.gguf"};
  EXPECT_EQ(gguf_variants(files), (std::vector<std::string>{"Q4_K_M", "Q8_0", "f16"}));
  EXPECT_EQ(
      files_of_variant(files, "q4_k_m"),
      (std::vector<std::string>{"m-Q4_K_M-00001-of-00002.gguf", "m-Q4_K_M-00002-of-00002.gguf"}));
  EXPECT_EQ(files_of_variant(files, "F16"), std::vector<std::string>{"sub/m-f16.gguf"});
  EXPECT_EQ(files_of_variant(files, "sub/m-f16.gguf"), std::vector<std::string>{"sub/m-f16.gguf"});
  EXPECT_EQ(files_of_variant(files, "m.Q8_0.gguf"), std::vector<std::string>{"m.Q8_0.gguf"});
  EXPECT_TRUE(files_of_variant(files, "Q4").empty());
}

}  // namespace
}  // namespace anemone::hub

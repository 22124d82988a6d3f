// SPDX-License-Identifier: Apache-2.0
// Tokenizers that are made from GGUF metadata, against what Hugging Face's library says.
#include "checkpoint/gguf/gguf_tokenizer.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf/gguf_file.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::shared_path;
using anemone::testing::TemporaryFolder;

Result<std::vector<checkpoint::TextFile>> text_files(const std::string& path) {
  const auto file = checkpoint::gguf::GgufFile::open(path);
  if (!file.ok()) return file.status();
  return checkpoint::gguf::make_text_files((*file)->metadata());
}

// What a converter writes for a tokenizer.json. `pre` is empty for SentencePiece, whose scores are
// then the order of the merges; "gemma4" for SentencePiece whose merges are listed.
GgufBuilder converted(const Json& tokenizer, const std::string& pre) {
  const Json& model = tokenizer["model"];
  const bool has_pieces = pre.empty() || pre == "gemma4";
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  const auto put = [&](const std::string& text, std::size_t id, std::int32_t type) {
    // Ids without a token are filled up.
    while (tokens.size() <= id) {
      tokens.push_back("[PAD" + std::to_string(tokens.size()) + "]");
      types.push_back(5);
    }
    tokens[id] = text;
    types[id] = type;
  };
  for (const auto& [text, id] : model["vocab"].items()) {
    const bool is_byte = has_pieces && text.size() == 6 && text.starts_with("<0x");
    put(text, id.get<std::size_t>(), is_byte ? 6 : 1);
  }
  for (const Json& added : tokenizer["added_tokens"])
    put(added["content"].get<std::string>(), added["id"].get<std::size_t>(),
        added["content"] == "<unk>"    ? 2
        : added["special"].get<bool>() ? 3
                                       : 4);
  GgufBuilder builder;
  builder.text("tokenizer.ggml.model", pre.empty() ? "llama" : has_pieces ? "gemma4" : "gpt2");
  builder.texts("tokenizer.ggml.tokens", tokens).i32s("tokenizer.ggml.token_type", types);
  if (pre.empty()) {
    std::map<std::string, float> ranks;
    for (const Json& merge : model["merges"]) {
      std::string piece = merge.get<std::string>();
      piece.erase(piece.find(' '), 1);
      ranks.emplace(piece, -static_cast<float>(ranks.size()));
    }
    std::vector<float> scores;
    for (const std::string& token : tokens)
      scores.push_back(ranks.contains(token) ? ranks[token] : -1e6F);
    return std::move(
        builder.f32s("tokenizer.ggml.scores", scores).u32("tokenizer.ggml.bos_token_id", 1));
  }
  std::vector<std::string> merges;
  for (const Json& merge : model["merges"])
    merges.push_back(merge.is_string()
                         ? merge.get<std::string>()
                         : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  if (has_pieces)
    builder.u32("tokenizer.ggml.bos_token_id", 1);
  else
    builder.text("tokenizer.ggml.pre", pre);
  return std::move(builder.texts("tokenizer.ggml.merges", merges));
}

struct Family {
  const char* folder;
  const char* pre;
  std::uint32_t bos = 0;  // 0: none
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.folder;
}

class GgufTokenizer : public ::testing::TestWithParam<Family> {};

TEST_P(GgufTokenizer, AgreesWithHuggingFace) {
  const auto folder = shared_path(std::string("data/tokenizers/") + GetParam().folder);
  if (!folder) GTEST_SKIP() << "absent: data/tokenizers (ANEMONE_SHARED)";
  // The file's own Json parser is not made for such a size: keys are looked up one by one.
  std::ifstream input(*folder + "/tokenizer.json");
  GgufBuilder builder =
      converted(nlohmann::ordered_json(nlohmann::json::parse(input)), GetParam().pre);
  if (GetParam().bos != 0) builder.u32("tokenizer.ggml.bos_token_id", GetParam().bos);
  const TemporaryFolder scratch;
  builder.write(scratch.file("a.gguf"));
  const auto files = text_files(scratch.file("a.gguf"));
  ASSERT_TRUE(files.ok()) << files.status().message();
  const auto tokenizer = Tokenizer::parse((*files)[0].content, "made from GGUF");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();

  std::ifstream lines(*folder + "/golden.jsonl");
  int cases = 0;
  int wrong = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto golden = parse_json(line, "golden");
    ASSERT_TRUE(golden.ok());
    const auto ids = (*tokenizer)
                         ->encode((*golden)["text"].get<std::string>(),
                                  {(*golden)["add_special"].get<bool>(),
                                   (*golden)["parse_special"].get<bool>()});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    const auto want = (*golden)["ids"].get<std::vector<std::int32_t>>();
    ++cases;
    if (*ids == want &&
        (*tokenizer)->decode(want).value() == (*golden)["decoded"].get<std::string>())
      continue;
    if (++wrong < 4)
      ADD_FAILURE() << (*golden)["text"] << "\n want " << Json(want) << "\n  got " << Json(*ids);
  }
  EXPECT_GE(cases, 100);
  EXPECT_EQ(wrong, 0) << "of " << cases;
}

INSTANTIATE_TEST_SUITE_P(, GgufTokenizer,
                         ::testing::Values(Family{"qwen2_5", "qwen2"},
                                           Family{"llama3_2", "llama-bpe", 128000},
                                           Family{"gpt4o", "gpt-4o"},
                                           Family{"synth_smollm", "smollm"}, Family{"llama2", ""},
                                           Family{"llama2", "gemma4"}),
                         [](const auto& info) {
                           std::string name = info.param.folder;
                           if (std::string_view(info.param.pre) == "gemma4") name += "_listed";
                           return name;
                         });

TEST(GgufModelText, TokenizerAndTemplateAreThoseOfTheFolder) {
  const auto model = shared_path("data/models/gguf-llama/model.Q8_0.gguf");
  const auto golden_path = shared_path("data/tokenizer/tokenizer_golden.json");
  if (!model || !golden_path) GTEST_SKIP() << "absent: data/models/gguf-llama (ANEMONE_SHARED)";
  const auto files = text_files(*model);
  ASSERT_TRUE(files.ok()) << files.status().message();
  ASSERT_EQ(files->size(), 2U);
  const auto tokenizer = Tokenizer::parse((*files)[0].content, "tokenizer.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto golden = read_json_file(*golden_path);
  ASSERT_TRUE(golden.ok());
  for (const Json& each : (*golden)["texts"]) {
    const auto ids = (*tokenizer)->encode(each["text"].get<std::string>(), {});
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, each["ids"].get<std::vector<std::int32_t>>()) << each["text"];
    EXPECT_EQ((*tokenizer)->decode(*ids).value(), each["decoded"].get<std::string>());
  }
  const auto config = parse_json((*files)[1].content, "tokenizer_config.json");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ((*config)["eos_token"], "<|im_end|>");
  const auto own = read_json_file(*shared_path("data/models/gguf-llama/tokenizer_config.json"));
  ASSERT_TRUE(own.ok());
  if (own->contains("chat_template")) {
    EXPECT_EQ((*config)["chat_template"], (*own)["chat_template"]);
  }
  EXPECT_TRUE(ChatTemplate::parse((*config)["chat_template"].get<std::string>()).ok());
}

TEST(GgufModelText, DamagedTokenizersAreRefusedByName) {
  using Damage = std::function<void(GgufBuilder&)>;
  const std::vector<std::string> tokens = {"a", "b", "ab"};
  const auto bpe = [&](GgufBuilder& b) {
    b.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "qwen2");
  };
  const std::pair<const char*, Damage> cases[] = {
      {"model", [](GgufBuilder& b) { b.text("tokenizer.ggml.model", "t5"); }},
      {"tokens", [&](GgufBuilder& b) { bpe(b); }},
      {"token_type",
       [&](GgufBuilder& b) {
         bpe(b);
         b.texts("tokenizer.ggml.tokens", tokens).i32s("tokenizer.ggml.token_type", {1});
       }},
      {"merges",
       [&](GgufBuilder& b) {
         bpe(b);
         b.texts("tokenizer.ggml.tokens", tokens);
       }},
      {"pre",
       [&](GgufBuilder& b) {
         b.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", tokens);
         b.text("tokenizer.ggml.pre", "other");
       }},
      {"twice",
       [&](GgufBuilder& b) {
         bpe(b);
         b.texts("tokenizer.ggml.tokens", {"a", "a"});
       }},
      {"UTF-8",
       [&](GgufBuilder& b) {
         bpe(b);
         b.texts("tokenizer.ggml.tokens", {"\xff"});
       }},
      {"scores",
       [&](GgufBuilder& b) {
         b.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
       }},
      {"bos_token_id",
       [&](GgufBuilder& b) {
         bpe(b);
         b.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", {"a b"});
         b.boolean("tokenizer.ggml.add_bos_token", true).u32("tokenizer.ggml.bos_token_id", 3);
       }},
  };
  const TemporaryFolder folder;
  for (const auto& [what, damage] : cases) {
    GgufBuilder builder;
    damage(builder);
    builder.write(folder.file("a.gguf"));
    const auto files = text_files(folder.file("a.gguf"));
    ASSERT_FALSE(files.ok()) << what;
    EXPECT_NE(files.status().message().find(what), std::string::npos) << files.status().message();
  }
}

}  // namespace
}  // namespace anemone::text

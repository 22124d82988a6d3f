// SPDX-License-Identifier: Apache-2.0
// Commands that read a checkpoint and run nothing: compile, export and chat-template.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/cli/pocket_model.h"
#include "tests/cli/process.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

TEST(Export, WritesOneFileAndRefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const std::string checkpoint = source_path("models/pocket/checkpoint");
  const std::string file = folder.file("out.safetensors");
  const auto export_to = [&](const std::string& arguments) {
    return run_anemone("export " + arguments);
  };
  const Outcome outcome = export_to(quoted(checkpoint) + " -o " + quoted(file) + " --dtype bf16");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("tensors as bf16"), std::string::npos) << outcome.out;
  EXPECT_TRUE(std::filesystem::exists(file));
  expect_error(export_to(quoted(checkpoint) + " -o " + quoted(file) + " --dtype f8"), 2, "--dtype");
  expect_error(export_to(quoted(file) + " -o " + quoted(file)), 2, "outside");
  expect_error(export_to(quoted(folder.path()) + " -o " + quoted(folder.file("b"))), 2, "outside");
  std::filesystem::create_directory(folder.file("sub"));
  expect_error(export_to(quoted(folder.path()) + " -o " + quoted(folder.file("sub/b"))), 2,
               "outside");
  expect_error(export_to(quoted(checkpoint) + " -o /nonexistent/x.safetensors"), 5, "/nonexistent");
  expect_error(export_to(quoted(folder.file("absent")) + " -o " + quoted(file)), 5, "absent");
  expect_error(export_to(quoted(source_path("README.md")) + " -o " + quoted(file)), 3, "README.md");
}

TEST(ChatTemplateCommand, TakesTheTemplateOfAGgufFile) {
  const TemporaryFolder folder;
  anemone::testing::tiny_gguf_metadata().write(folder.file("a.gguf"));
  const Outcome outcome = run_anemone("chat-template --model " + quoted(folder.file("a.gguf")),
                                      "[{\"role\": \"user\", \"content\": \"From the file\"}]");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "From the file\n");
  // MODEL needs no flag, as with other commands.
  EXPECT_EQ(run_anemone("chat-template " + quoted(folder.file("a.gguf")),
                        "[{\"role\": \"user\", \"content\": \"From the file\"}]")
                .out,
            "From the file\n");
  expect_error(run_anemone("chat-template x --template y", "[]"), 2,
               "expected --template FILE or MODEL, got both");
  anemone::testing::GgufBuilder()
      .texts("tokenizer.ggml.tokens", {"a"})
      .i32s("tokenizer.ggml.token_type", {1})
      .write(folder.file("b.gguf"));
  expect_error(run_anemone("chat-template --model " + quoted(folder.file("b.gguf")), "[]"), 3,
               "chat template");
}

TEST(GgufVocabulary, TokenizesAndHasNoWeights) {
  const TemporaryFolder folder;
  const std::string file = folder.file("vocab.gguf");
  anemone::testing::tiny_gguf_metadata().write(file);
  for (const std::string& words : {"compile " + quoted(file) + " -o " + quoted(folder.file("out")),
                                   "run " + quoted(file) + " x",
                                   "export " + quoted(file) + " -o " + quoted(folder.file("out"))})
    expect_error(run_anemone(words), 3,
                 "vocab.gguf] expected weights, got a vocabulary alone, which anemone tokenize");
  const Outcome inspected = run_anemone("inspect " + quoted(file));
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("  compiles  no: "), std::string::npos) << inspected.out;
  EXPECT_NE(inspected.out.find("got a vocabulary alone"), std::string::npos) << inspected.out;
  const Outcome tokens = run_anemone("tokenize --model " + quoted(file) + " abb");
  EXPECT_EQ(tokens.code, 0) << tokens.err;
  EXPECT_TRUE(tokens.out.ends_with("2 tokens\n")) << tokens.out;
  // The message is the same for an architecture that anemone cannot compile.
  anemone::testing::GgufBuilder()
      .text("general.architecture", "falcon")
      .texts("tokenizer.ggml.tokens", {"a"})
      .write(file);
  expect_error(run_anemone("compile " + quoted(file) + " -o " + quoted(folder.file("out"))), 3,
               "got a vocabulary alone");
  anemone::testing::GgufBuilder().text("general.architecture", "llama").write(file);
  expect_error(run_anemone("export " + quoted(file) + " -o " + quoted(folder.file("out"))), 3,
               "expected weights, got metadata alone");
}

TEST(CompileCommand, RefusesWhatItCannotCompile) {
  const TemporaryFolder folder;
  const std::string to = " -o " + quoted(folder.file("out"));
  const std::string good = "compile " + quoted(checkpoint()) + to;
  expect_error(run_anemone("compile /nonexistent" + to), 5, "/nonexistent");
  expect_error(run_anemone(good + " --quant int3"), 2, "int8-channel");
  expect_error(run_anemone(good + " --precision bf16"), 2, "--precision");
  expect_error(run_anemone(good + " --target ios14"), 2, "ios16, ios17 or ios18");
  expect_error(run_anemone(good + " --target macos12"), 2, "macos13, macos14 or macos15");
  expect_error(run_anemone(good + " --form tidy"), 2, "[--form] expected portable");
  expect_error(run_anemone(good + " --shards 0"), 2, "shards");
  expect_error(run_anemone(good + " --shards 0:3,4:6"), 2, "shards");
  expect_error(run_anemone(good + " --context 0"), 2, "--context");
  expect_error(run_anemone("compile " + quoted(checkpoint()) + " -o /dev/null"), 2, "/dev/null");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(CompileCommand, NotesThatThereIsNoTokenizer) {
  const TemporaryFolder folder;
  const std::string tiny = source_path("tests/compiler/data/tiny/qwen3");
  const std::string out = folder.file("out");
  const Outcome outcome = run_anemone("compile " + quoted(tiny) + " -o " + quoted(out));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(
      outcome.out.find("note: the checkpoint has no tokenizer.json: the model takes token ids "
                       "alone (run --prompt-ids) until a tokenizer.json lies in its folder"),
      std::string::npos)
      << outcome.out;
  expect_error(run_anemone("run " + quoted(out) + " --raw hi"), 3, "without (--prompt-ids works)");
  // What the note says helps.
  fs::copy(checkpoint() + "/tokenizer.json", out + "/tokenizer.json");
  const Outcome ran = run_anemone("run " + quoted(out) + " --raw ! -n 1 --ignore-eos");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(run_anemone("compile " + quoted(checkpoint()) + " -o " + quoted(folder.file("with")))
                .out.find("tokenizer.json"),
            std::string::npos);
}

// compile takes the names that check takes, in any case of letters.
TEST(CompileCommand, TakesTargetsByTheNamesOfBothSystems) {
  for (const char* target : {"macos14", "iOS17", "macOS 14"}) {
    const Outcome outcome =
        run_anemone("compile " + quoted(checkpoint()) +
                    " -o /nonexistent/out --dry-run --quant int8 --target " + quoted(target));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST(RunOfAGgufFile, AnEmptyTextIsTheTokenBeforeTexts) {
  const TemporaryFolder folder;
  anemone::testing::GgufBuilder builder = anemone::testing::tiny_gguf_metadata();
  builder.boolean("tokenizer.ggml.add_bos_token", true).u32("tokenizer.ggml.bos_token_id", 3);
  anemone::testing::add_tiny_gguf_tensors(builder).write(folder.file("a.gguf"));
  const std::string model = quoted(folder.file("model"));
  ASSERT_EQ(run_anemone("compile " + quoted(folder.file("a.gguf")) + " -o " + model).code, 0);
  const Outcome outcome = run_anemone("run " + model + " '' --raw --json -n 1 --ignore-eos");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "answer");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["prompt_tokens"], 1);
}

TEST(CompileCommand, ReportsAsJson) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_anemone("compile " + quoted(checkpoint()) + " -o " + quoted(folder.file("out")) +
                  " --json --shards 2 --context 100 --quant int8-channel");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "report");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["context"], 100);
  EXPECT_EQ((*json)["packages"].size(), 4U);  // layers, layers, head, embed
  EXPECT_EQ((*json)["quantization"], "int8-channel");
  const Json& shared = (*json)["embedding"];
  EXPECT_TRUE(shared["file"].is_null() && shared["bytes"] == 0) << shared;
  EXPECT_EQ(shared["type"], "int8");
  const Outcome own =
      run_anemone("compile " + quoted(checkpoint()) + " -o " + quoted(folder.file("out")) +
                  " --json --dry-run --quant-for embedding=none");
  ASSERT_EQ(own.code, 0) << own.err;
  const auto table = parse_json(own.out, "report");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)["embedding"],
            (Json{{"file", "embedding.bin"}, {"type", "fp16"}, {"bytes", 1024 * 128 * 2}}));
}

// What is stored depends on the processor, and forms that the Neural Engine gets wrong are named.
TEST(CompileCommand, StoresWeightsForTheProcessor) {
  const TemporaryFolder folder;
  const auto compiled = [&](const std::string& model, const std::string& flags) {
    Outcome outcome = run_anemone("compile " + quoted(model) + " -o " +
                                  quoted(folder.file("model")) + " " + flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const std::string gguf = anemone::testing::source_path("tests/checkpoint/data/tiny.gguf");
  constexpr std::string_view kWarning = "note: weights with a scale for each block of inputs";
  EXPECT_TRUE(has(compiled(checkpoint(), ""), "fp16 lut6, head lut8"));
  EXPECT_TRUE(has(compiled(checkpoint(), "--for cpu"), "fp16 keep"));
  const std::string palettes = compiled(gguf, "--quant-threshold 0");
  EXPECT_TRUE(has(palettes, "with a relative error of at most")) << palettes;
  EXPECT_FALSE(has(palettes, kWarning)) << palettes;
  EXPECT_TRUE(has(compiled(gguf, "--quant-threshold 0 --for cpu"), "kept"));
  EXPECT_TRUE(has(compiled(checkpoint(), "--quant mixed"), kWarning));
  EXPECT_TRUE(has(compiled(checkpoint(), "--quant-for head=int8-block"), kWarning));
  EXPECT_FALSE(has(compiled(checkpoint(), "--quant mixed --for cpu"), kWarning));
  const std::string rows = compiled(checkpoint(), "--quant-for embedding=int4-block");
  EXPECT_TRUE(has(rows, "fp16 lut6, head lut8, embedding int4-block")) << rows;
  EXPECT_TRUE(has(rows,
                  "note: the embedding is the matrix of the head, which is stored as lut8: "
                  "as int4-block it takes a file of its own"))
      << rows;
  EXPECT_FALSE(has(rows, kWarning)) << rows;
  expect_error(run_anemone("compile " + quoted(checkpoint()) + " -o " +
                           quoted(folder.file("model")) + " --for gpu"),
               2, "[--for] expected ane or cpu, got \"gpu\"");
}

TEST(CompileCommand, GivesTheModelAName) {
  const TemporaryFolder folder;
  const std::string compile =
      "compile " + quoted(checkpoint()) + " -o " + quoted(folder.file("out")) + " --name ";
  ASSERT_EQ(run_anemone(compile + "'my model'").code, 0);
  const Outcome inspected = run_anemone("inspect " + quoted(folder.file("out")));
  EXPECT_NE(inspected.out.find("compiled model my model, qwen2"), std::string::npos)
      << inspected.out;
  const Outcome package = run_anemone("inspect " + quoted(folder.file("out/head_0.mlpackage")));
  EXPECT_NE(package.out.find("my model"), std::string::npos) << package.out;
  expect_error(run_anemone(compile + std::string(201, 'x')), 2, "--name");
  expect_error(run_anemone(compile + "'\xff'"), 2, "--name");
}

TEST(CompileCommand, TakesOldNamesOfFlags) {
  const TemporaryFolder folder;
  const std::string compile = "compile " + quoted(checkpoint()) + " --dry-run -o ";
  for (const std::string name : {"soft", "dense"}) {
    const Outcome outcome =
        run_anemone(compile + quoted(folder.file("out")) + " --experts " + name);
    EXPECT_EQ(outcome.code, 0) << name << ": " << outcome.err;
  }
  expect_error(run_anemone(compile + quoted(folder.file("out")) + " --experts hard"), 2,
               "--experts");
}

}  // namespace
}  // namespace anemone::cli

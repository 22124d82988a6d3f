// SPDX-License-Identifier: Apache-2.0
// The commands that use a compiled model, on the pocket model.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "tests/cli/pocket_model.h"
#include "tests/cli/process.h"
#include "tests/support/folder_bytes.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

// A model that labels tokens gives what /v1/classify of a server gives.
TEST(LabelModel, PrintsTheLabelsOfTokensAndTheirSpans) {
  const TemporaryFolder folder;
  const std::string model = quoted(folder.file("labels"));
  const Outcome compiled = run_anemone(
      "compile " + quoted(source_path("tests/compiler/data/tiny/openai_privacy_filter")) + " -o " +
      model);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const std::string run = "run " + model + " --prompt-ids 1,2,3 ";
  const Outcome outcome = run_anemone(run + "--json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "answer");
  ASSERT_TRUE(json.ok()) << outcome.out;
  EXPECT_EQ((*json)["ids"], Json::array({1, 2, 3}));
  EXPECT_EQ((*json)["labels"].size(), 3u);
  ASSERT_EQ((*json)["scores"].size(), 3u);
  ASSERT_FALSE((*json)["spans"].empty()) << outcome.out;
  const Json& span = (*json)["spans"][0];
  EXPECT_GT(span["score"].get<double>(), 0);
  EXPECT_TRUE(span["start"].is_null() && span["end"].is_null()) << "the model has no tokenizer";
  EXPECT_EQ(span["text"], "");
  const Outcome lines = run_anemone(run + "--spans");
  EXPECT_TRUE(lines.out.starts_with(span["label"].get<std::string>() + "\t")) << lines.out;
}

TEST_F(PocketModel, AnswersASumThatItWasNotTrainedOn) {
  const Outcome outcome = run("'What is 17 + 25?'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "17 + 25 = 42.\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(PocketModel, TakesThePromptFromStdin) {
  EXPECT_EQ(run("-", "What is 17 + 25?\n").out, "17 + 25 = 42.\n");
}

// The tokenizer puts no token before a text.
TEST_F(PocketModel, AnEmptyPromptIsAMessageOrAnError) {
  const Outcome message = run("'' -n 4 --greedy");
  EXPECT_EQ(message.code, 0) << message.err;
  EXPECT_EQ(run("-p '' -n 4 --greedy").out, message.out);
  expect_error(run("'' --raw"), 2, "[PROMPT] expected a text, got an empty one: the tokenizer of ");
  for (const char* text : {"", "\n"}) {
    expect_error(run("-", text), 3, "[stdin] expected a prompt, got an empty text");
    const testing::TemporaryFolder folder;
    std::ofstream(folder.file("empty.txt")) << text;
    expect_error(run("--file " + quoted(folder.file("empty.txt"))), 3,
                 "empty.txt] expected a prompt, got an empty text");
  }
}

TEST_F(PocketModel, IsAChatWhenThereIsNoPrompt) {
  const Outcome outcome = run("", "What is the capital of France?\n\nAnd Spain?\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "The capital of France is Paris.\nThe capital of Spain is Madrid.\n");
}

TEST_F(PocketModel, GivesOneJsonObjectOnRequest) {
  const Json json = run_json("'What is 17 + 25?'");
  EXPECT_EQ(json["text"], "17 + 25 = 42.");
  EXPECT_EQ(json["finish_reason"], "stop");
  EXPECT_GT(json["prompt_tokens"], 0);
  EXPECT_GT(json["ids"].size(), 5U);
  EXPECT_GT(json["timing"]["prefill_s"], 0);
}

TEST_F(PocketModel, EndsWhereItIsTold) {
  EXPECT_EQ(run_json("'What is 17 + 25?' --stop ' = '")["text"], "17 + 25");
  const Json cut = run_json("'What is 17 + 25?' --max-new 3");
  EXPECT_EQ(cut["ids"].size(), 3U);
  EXPECT_EQ(cut["finish_reason"], "length");
  EXPECT_EQ(run_json("--raw 'The capital of' --max-new 8 --ignore-eos")["ids"].size(), 8U);
}

TEST_F(PocketModel, AnswersInStages) {
  const std::string manifest = R"({"name": "sum", "stages": [{"kind": "literal", "text": "SUM: "},
      {"kind": "field", "min_tokens": 2, "max_tokens": 5}, {"kind": "open"}]})";
  const std::string flags = "'What is 17 + 25?' --stages " + quoted(manifest);
  const Json json = run_json(flags + " --max-new 30");
  const std::string text = json["text"];
  EXPECT_TRUE(text.starts_with("SUM: ")) << text;
  const Json& counts = json["structured_cot"];
  EXPECT_EQ(counts["name"], "sum");
  EXPECT_EQ(counts["fields_completed"], 1);
  EXPECT_GE(counts["field_content_tokens"], 2);
  EXPECT_LE(counts["field_content_tokens"], 5);
  EXPECT_EQ(counts["field_token_counts"], Json::array({counts["field_content_tokens"]}));
  EXPECT_EQ(counts["forced_tokens"].get<std::size_t>() +
                counts["field_content_tokens"].get<std::size_t>() + 1 +
                counts["open_tokens"].get<std::size_t>(),
            json["ids"].size());
  // The manifest in a file, and token ids in and out.
  const TemporaryFolder folder;
  std::ofstream(folder.file("stages.json")) << manifest;
  const std::string file = " --stages " + quoted("@" + folder.file("stages.json"));
  EXPECT_EQ(run("'What is 17 + 25?' --max-new 30" + file).out.find(text), 0U);
  const Json ids = run_json("--prompt-ids '5 6 7' --max-new 30" + file);
  EXPECT_EQ(ids["structured_cot"]["fields_completed"], 1);
  EXPECT_FALSE(run_json("x --max-new 1").contains("structured_cot"));
  expect_error(run("x --stages '{\"stages\": 5}'"), 3, "[--stages#/stages] expected a list");
}

TEST_F(PocketModel, SamplesTheSameTextFromTheSameSeed) {
  const std::string arguments = "--raw 'How' --max-new 20 --temperature 1.5 --ignore-eos --seed ";
  const Json first = run_json(arguments + "7");
  EXPECT_EQ(first["ids"], run_json(arguments + "7")["ids"]);
  EXPECT_NE(first["ids"], run_json(arguments + "8")["ids"]);
  EXPECT_EQ(first["seed"], 7);
}

TEST_F(PocketModel, TakesIdsAndGivesLogits) {
  const TemporaryFolder folder;
  const std::string logits = folder.file("logits.safetensors");
  ASSERT_TRUE(write_file(folder.file("ids"), "5, 6\n7 8").ok());
  const Outcome outcome = run("--prompt-ids @" + quoted(folder.file("ids")) + " --max-new 2" +
                              " --ignore-eos --logits-out " + quoted(logits));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), ' '), 1) << outcome.out;
  const auto file = checkpoint::SafetensorsFile::open(logits);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->find("logits")->shape, (Shape{4, 1024}));
  EXPECT_EQ((*file)->find("ids")->shape, (Shape{2}));
  EXPECT_EQ(run("--prompt-ids '5 6 7 8' --max-new 2 --ignore-eos").out, outcome.out);
}

// The weights are in memory of the process, and every logit has the same bits.
TEST_F(PocketModel, ReadsTheWeightsIntoMemory) {
  const TemporaryFolder folder;
  const std::string arguments = "--prompt-ids '5 6 7 8' --max-new 2 --ignore-eos --logits-out ";
  const Outcome mapped = run(arguments + quoted(folder.file("mapped")));
  const Outcome read = run(arguments + quoted(folder.file("read")) + " --no-mmap");
  ASSERT_EQ(read.code, 0) << read.err;
  EXPECT_EQ(read.out, mapped.out);
  EXPECT_EQ(*read_file(folder.file("read"), 1 << 20), *read_file(folder.file("mapped"), 1 << 20));
}

TEST_F(PocketModel, RefusesWhatCannotBeRun) {
  expect_error(run("--prompt-ids '1 2 1024' --max-new 1"), 2, "1024");
  expect_error(run("--prompt-ids '1 -2'"), 2, "-2");
  expect_error(run("--prompt-ids '1 two'"), 2, "\"two\"");
  expect_error(run("--prompt-ids ','"), 2, "at least one");
  expect_error(run("--prompt-ids @/nonexistent"), 5, "/nonexistent");
  expect_error(run("x --prompt-ids '1'"), 2, "--prompt-ids");
  expect_error(run("x --raw --system y"), 2, "--raw");
  expect_error(run("x --temperature -1"), 2, "temperature");
  expect_error(run("x --temperature nan"), 2, "temperature");
  expect_error(run("x --top-p 2"), 2, "[--top-p] expected 0 to 1, got 2");
  expect_error(run("x --greedy --temperature 1"), 2, "--greedy");
  expect_error(run("x --greedy --min-p 0.1"), 2, "--greedy");
  expect_error(run("x --min-p 2"), 2, "[--min-p] expected 0 to 1, got 2");
  expect_error(run("x --repetition-penalty 0"), 2, "repetition_penalty");
  expect_error(run("x --presence-penalty inf"), 2, "presence_penalty");
  expect_error(run("x --no-repeat-ngram -1"), 2, "--no-repeat-ngram");
  expect_error(run("x --stop-repeat-ngram -1"), 2, "--stop-repeat-ngram");
  expect_error(run("x --logit-bias x"), 2, "ID=BIAS");
  expect_error(run("x --logit-bias 5=nan"), 2, "logit_bias");
  expect_error(run("x --logit-bias=-1=1"), 2, "logit_bias");
  expect_error(run("x --logit-bias 99999=1"), 2, "logit_bias");
  expect_error(run("x --logprobs 2"), 2, "--json");
  expect_error(run("x --json --logprobs -1"), 2, "--logprobs");
  expect_error(run("x --logits-out /nonexistent/l.safetensors"), 5, "/nonexistent");
  expect_error(run_in("/", R"(sh -c '"$0" "$@" </' )", "run " + quoted(model()) + " -"), 5,
               "stdin");
  expect_error(run_in("/", R"(sh -c '"$0" "$@" </' )", "run " + quoted(model())), 5, "stdin");
  std::string ids;
  for (int i = 0; i < 600; ++i) ids += "5 ";
  expect_error(run("--prompt-ids '" + ids + "'"), 2, "512");
}

TEST_F(PocketModel, TakesTextsFromFiles) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("rules")) << "Answer in one word.\n";
  std::ofstream(folder.file("question")) << "What is 17 + 25?\n";
  std::ofstream(folder.file("dash")) << "-";
  std::ofstream(folder.file("template")) << "{{ messages[0].content }}";
  const auto tokens = [](const std::string& arguments) {
    return run_json(arguments + " --max-new 1")["prompt_tokens"];
  };
  const std::string question = "--file " + quoted(folder.file("question"));
  EXPECT_EQ(run(question).out, "17 + 25 = 42.\n");
  EXPECT_EQ(tokens(question + " --system @" + quoted(folder.file("rules"))),
            tokens("'What is 17 + 25?' --system 'Answer in one word.'"));
  const auto dash = [&](const std::string& in) {
    return parse_json(run("--json --max-new 1 --file " + quoted(folder.file("dash")), in).out, "");
  };
  EXPECT_EQ((*dash(""))["prompt_tokens"], (*dash("a b c d"))["prompt_tokens"])
      << "no stdin is read";
  EXPECT_EQ(run("'The capital of France' --max-new 4 --chat-template-file " +
                quoted(folder.file("template")))
                .out,
            " is Paris\n");
  expect_error(run("x --system @/nonexistent"), 5, "[/nonexistent] cannot open");
  expect_error(run("--file /nonexistent"), 5, "[/nonexistent] cannot open");
}

TEST_F(PocketModel, WithoutAChatTemplateContinuesTheTextAndSaysSo) {
  const TemporaryFolder folder;
  const std::string bare = folder.file("bare");
  fs::create_directory(bare);
  for (const auto& entry : fs::directory_iterator(checkpoint()))
    if (const std::string name = entry.path().filename().string();
        name != "chat_template.jinja" && name != "tokenizer_config.json")
      fs::copy(entry.path(), bare + "/" + name);
  const auto answer = [&](const std::string& arguments) {
    return run_in("", "ANEMONE_CACHE=" + quoted(folder.file("cache")) + " ",
                  "run " + quoted(bare) + " " + arguments);
  };
  const Outcome text = answer("'The capital of France' --max-new 4");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out, " is Paris\n");
  EXPECT_NE(text.err.find("has no chat template, so the prompt is continued as plain text"),
            std::string::npos)
      << text.err;
  EXPECT_EQ(answer("x --max-new 1 --raw").err, "");
  expect_error(answer(""), 2, "cannot chat (--chat-template-file gives it one)");
  expect_error(answer("x --system y"), 2, "bare (--chat-template-file gives it one)");
}

TEST_F(PocketModel, EmbedsTheLinesOfStdinForADash) {
  const std::string embed = "embed " + quoted(model());
  const Outcome dash = run_anemone(embed + " -", "hi\n");
  EXPECT_EQ(dash.code, 0) << dash.err;
  EXPECT_EQ(dash.out, run_anemone(embed + " hi").out);
}

// Neither over a file that the command reads, nor beside those of a model.
TEST_F(PocketModel, WritesNothingAmongTheFilesOfAModel) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string artifact = folder.file("artifact");
  fs::copy(model(), artifact, fs::copy_options::recursive);
  fs::create_directory_symlink(artifact, folder.file("link"));
  fs::create_symlink("nowhere", folder.file("dangling.svg"));
  fs::create_directory(folder.file("folder.svg"));
  const auto before = anemone::testing::files_in(artifact);
  const std::string ids = quoted(artifact) + " --prompt-ids 1 --max-new 1 --logits-out ";
  for (const char* name : {"artifact/manifest.json", "artifact/tokenizer.json", "artifact/new",
                           "link/tokenizer.json", "artifact/head_0.mlpackage/new"})
    expect_error(run_anemone("run " + ids + quoted(folder.file(name))), 2, "outside");
  const std::string plot = "bench " + quoted(artifact) + " --reps 1000 --plot ";
  expect_error(run_anemone(plot + quoted(folder.file("link/new.svg"))), 2, "outside");
  expect_error(run_anemone(plot + quoted(folder.file("dangling.svg"))), 5, "got a link");
  expect_error(run_anemone(plot + quoted(folder.file("folder.svg"))), 5, "got a folder");
  expect_error(run_anemone("serve " + quoted(artifact) + " --port 0 --ready-file " +
                           quoted(folder.file("artifact/ready"))),
               2, "outside");
  EXPECT_TRUE(anemone::testing::files_in(artifact) == before);

  // A snapshot of the hub's cache is made of links to its blobs.
  const std::string checkpoint = source_path("models/pocket/checkpoint");
  const std::string snapshot = folder.file("models--a--b/snapshots/0");
  fs::create_directories(snapshot);
  fs::copy(checkpoint, folder.file("models--a--b/blobs"));
  for (const auto& entry : fs::directory_iterator(checkpoint))
    fs::create_symlink("../../blobs/" + entry.path().filename().string(),
                       snapshot + "/" + entry.path().filename().string());
  const std::string blob = folder.file("models--a--b/blobs/model.safetensors");
  expect_error(run_anemone("export " + quoted(snapshot) + " -o " + quoted(blob)), 2, "outside");
  EXPECT_EQ(contents(blob), contents(checkpoint + "/model.safetensors"));
}

TEST_F(PocketModel, InspectShowsAndChecksIt) {
  const Outcome outcome = run_anemone("inspect " + quoted(model()));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"qwen2 with 6 layers", "512 tokens", "decode (T=1), prefill (T=64)",
                           "layers_00_05.mlpackage", "vocabulary 0-1023", "unverified"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  const auto json = parse_json(run_anemone("inspect --json " + quoted(model())).out, "report");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["context"], 512);

  const TemporaryFolder folder;
  const std::string copy = folder.file("copy");
  fs::copy(model(), copy, fs::copy_options::recursive);
  const std::string file = copy + "/head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  std::string weights = contents(file);
  weights[1000] ^= 1;
  ASSERT_TRUE(write_file(file, weights).ok());
  expect_error(run_anemone("inspect " + quoted(copy)), 3, "weight.bin");
}

TEST_F(PocketModel, TokenizeShowsIdsAndText) {
  const Outcome table = run_anemone("tokenize --model " + quoted(model()) + " 'Hello 12'");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("\"Hello\""), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("4 tokens"), std::string::npos) << table.out;
  const auto json = parse_json(
      run_anemone("tokenize --json --model " + quoted(model()), "naïve ☕").out, "answer");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["text"], "naïve ☕");
  const Outcome lines =
      run_anemone("tokenize --stdin-jsonl --model " + quoted(model()),
                  "{\"text\": \"<|im_end|>\"}\nnonsense\n{\"text\": \"<|im_end|>\", "
                  "\"parse_special\": false}\n");
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 3) << lines.out;
  EXPECT_TRUE(lines.out.starts_with("{\"ids\":[1023]")) << lines.out;
  EXPECT_NE(lines.out.find("\n{\"error\""), std::string::npos) << lines.out;
}

TEST_F(PocketModel, ChatTemplateShowsThePrompt) {
  const Outcome outcome =
      run_anemone("chat-template --model " + quoted(model()),
                  "[{\"role\": \"system\", \"content\": \"Be kind.\"}, {\"role\": \"user\", "
                  "\"content\": \"Hi\"}]");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n");
  expect_error(run_anemone("chat-template --model " + quoted(model()), "not json"), 3, "stdin");
  expect_error(run_anemone("chat-template"), 2, "--template FILE or MODEL");
}

TEST_F(PocketModel, EmbedTakesTheFlagThatOthersHave) {
  const std::string embed = "embed " + quoted(model()) + " Hello";
  const Outcome outcome = run_anemone(embed + " --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with(R"({"index":0,"tokens":)")) << outcome.out;
  EXPECT_EQ(outcome.out, run_anemone(embed).out);
}

}  // namespace
}  // namespace anemone::cli

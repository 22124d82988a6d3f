// SPDX-License-Identifier: Apache-2.0
// `anemone check --hints`: every option and every field of a form file that a hint names is applied
// to a model that breaks its law, as `compile --dry-run` would write it, and the law is kept.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ane/law.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using ane::Hint;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

// A model, by the pocket model or the config of a tiny one with other sizes, and how it is
// compiled: options with their values ("" for a flag), and the fields of the form file.
struct Compiled {
  std::string model;
  std::string sizes = "{}";
  std::map<std::string, std::string> options = {};
  std::string form = "{}";
};

struct Case {
  const char* law;
  std::vector<const char*> hints;  // applied together
  Compiled breaks;
  // Some places stay, such as a package that is small in any case; there are fewer.
  bool some_stay = false;
};

Json json_of(const std::string& text) {
  const auto json = parse_json(text, "text");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json::object();
}

using Counts = std::map<std::string, std::size_t>;

// How often the laws are broken, by law.
Counts broken(const Compiled& compiled) {
  // Several hints are for one model.
  static std::map<std::string, Counts> known;
  std::string key = compiled.model + compiled.sizes + compiled.form;
  for (const auto& [option, value] : compiled.options) key += " " + option + " " + value;
  const auto [place, is_new] = known.try_emplace(std::move(key));
  Counts& out = place->second;
  if (!is_new) return out;
  const TemporaryFolder folder;
  std::string model = source_path("models/pocket/checkpoint");
  if (compiled.model != "pocket") {
    Json config = json_of(
        contents(source_path("tests/compiler/data/tiny/" + compiled.model + "/config.json")));
    config.update(json_of(compiled.sizes));
    model = folder.file("model");
    fs::create_directory(model);
    EXPECT_TRUE(write_file(model + "/config.json", config.dump()).ok());
  }
  std::string command = "compile '" + model + "' -o '" + folder.file("out") + "' --dry-run --json";
  EXPECT_TRUE(write_file(folder.file("form.json"), compiled.form).ok());
  command += " --form '" + folder.file("form.json") + "'";
  for (const auto& [option, value] : compiled.options) command += " " + option + " " + value;
  const Outcome outcome = run_anemone(command);
  EXPECT_EQ(outcome.code, 0) << command << outcome.err;
  const Json report = json_of(outcome.out);
  for (const Json& finding : report["check"]["findings"]) ++out[finding["law"].get<std::string>()];
  return out;
}

const Hint* find_hint(const ane::Law& law, std::string_view text) {
  for (const Hint& hint : ane::hints_of(law))
    if (hint.text == text) return &hint;
  return nullptr;
}

void apply(const Hint& hint, Compiled& compiled) {
  const std::string text(hint.text);
  const std::size_t space = text.find(' ');
  if (hint.kind == Hint::Kind::kOption) {
    compiled.options[text.substr(0, space)] = text.substr(space + 1);
  } else if (hint.kind == Hint::Kind::kOmit) {
    EXPECT_EQ(compiled.options.erase(text), 1U);
  } else if (hint.kind == Hint::Kind::kForm) {
    Json form = json_of(compiled.form);
    form.update(json_of(text));
    compiled.form = form.dump();
  }
}

constexpr const char* kBlend = R"({"form": "blend-states"})";
// Layers of 218 million weights, more of them than a package should have.
constexpr const char* kLarge =
    R"({"vocab_size": 40000, "hidden_size": 4096, "intermediate_size": 14336, "head_dim": 128,
        "num_hidden_layers": 18, "num_attention_heads": 32, "num_key_value_heads": 8})";
constexpr const char* kDeep = R"({"num_hidden_layers": 36})";
// An MLP of more channels, and projections of 2 MiB per core in fp16.
constexpr const char* kWide =
    R"({"vocab_size": 40000, "hidden_size": 4096, "intermediate_size": 20480, "head_dim": 128,
        "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8})";

std::vector<Case> cases() {
  const Compiled blend{.model = "pocket", .form = kBlend};
  const Compiled large{.model = "llama",
                       .sizes = kLarge,
                       .options = {{"--shards", "1"}, {"--quant", "int8-channel"}}};
  const Compiled halves{.model = "llama",
                        .sizes = kLarge,
                        .options = {{"--shards", "2"}, {"--quant", "int8-channel"}}};
  const Compiled deep{.model = "llama", .sizes = kDeep, .options = {{"--shards", "1"}}};
  const Compiled wide{
      .model = "llama", .sizes = kWide, .options = {{"--quant", "none"}}, .form = kBlend};
  const Compiled blocks{.model = "pocket", .options = {{"--quant", "int4-block"}}};
  const Compiled range{.model = "pocket", .options = {{"--range-dim", ""}}, .form = kBlend};
  const Compiled slice{.model = "pocket", .form = R"({"form": "slice-states"})"};
  const Compiled convs{.model = "lfm2", .form = kBlend};
  const Compiled packs{.model = "qwen3_moe", .options = {{"--experts", "packs"}}};
  return {
      {"block-scales", {"--quant lut4"}, blocks},
      {"block-scales", {"--quant int8-channel"}, blocks},
      {"dma-notch", {R"({"notch": "avoided"})"}, wide},
      {"state-width", {"--kv-form readonly"}, {.model = "llama", .form = kBlend}},
      {"state-width", {"--kv-form readonly", R"({"recurrent": "tensors"})"}, convs},
      {"state-shapes", {R"({"recurrent": "tensors"})"}, convs},
      {"state-shapes", {"--kv-form readonly"}, convs},
      {"narrow-axis",
       {"--layout width", R"({"logits": "last-axis"})", "--kv-form readonly"},
       blend},
      {"many-states", {"--kv-form slice"}, blend},
      {"many-states", {"--kv-form readonly"}, blend},
      {"many-states",
       {R"({"recurrent": "tensors"})"},
       {.model = "lfm2", .form = R"({"form": "slice-states", "recurrent": "states"})"}},
      {"range-shapes", {"--range-dim"}, range},
      {"range-shapes",
       {"--kv-form readonly"},
       {.model = "pocket", .options = {{"--kv-form", "growing"}}}},
      {"carried-cache", {"--kv-form slice"}, {.model = "pocket"}},
      {"carried-cache", {"--kv-form blend"}, {.model = "pocket"}},
      {"package-bytes", {"--shards 250MB"}, large},
      {"large-package", {"--shards 250MB"}, halves},
      {"many-functions",
       {"--draft-width"},
       {.model = "pocket", .options = {{"--draft-width", "8"}}}},
      {"many-functions", {"--context"}, {.model = "pocket", .options = {{"--context", "128,512"}}}},
      {"many-functions", {"--experts dense"}, packs},
      {"tiny-function",
       {"--shards auto"},
       {.model = "pocket", .options = {{"--shards", "each"}}},
       true},
      {"tiny-function", {R"({"embed": "none"})"}, {.model = "pocket"}, true},
      {"tiny-function", {"--experts dense"}, packs, true},
      {"small-package",
       {"--shards 1"},
       {.model = "pocket", .options = {{"--shards", "each"}}},
       true},
      {"many-operations", {"--shards each"}, deep},
      {"many-operations",
       {R"({"packages": "bounded"})"},
       {.model = "llama", .sizes = kDeep, .form = kBlend}},
      {"many-layers", {"--shards each"}, deep},
      {"many-layers",
       {R"({"packages": "bounded"})"},
       {.model = "llama", .sizes = kDeep, .form = kBlend}},
      {"more-than-three-layers", {"--shards each"}, deep},
      {"many-ports", {"--kv-form slice"}, deep},
      {"many-ports", {"--shards each"}, deep},
      {"wide-output", {R"({"projections": "split", "head-outputs": "split"})"}, wide},
      {"wide-input", {R"({"projections": "split"})"}, wide},
      {"softplus", {R"({"softplus": "arithmetic"})"}, {.model = "qwen3_5_text", .form = kBlend}},
      {"depthwise-conv", {R"({"taps": "arithmetic"})"}, convs},
      {"large-select",
       {R"({"routing": "arithmetic"})"},
       {.model = "qwen3_moe", .sizes = R"({"num_local_experts": 136})", .form = kBlend}},
      {"argmax", {"--argmax"}, {.model = "pocket", .options = {{"--argmax", ""}}}},
      {"argmax", {R"({"head": "logits"})"}, {.model = "pocket", .form = R"({"head": "argmax"})"}},
      {"slice-update", {"--kv-form readonly"}, slice},
      {"slice-update", {"--kv-form blend"}, slice},
      {"fp32", {"--precision fp16"}, {.model = "pocket", .options = {{"--precision", "fp32"}}}},
      {"unquantized-weights",
       {"--quant auto"},
       {.model = "pocket", .options = {{"--quant", "none"}}}},
  };
}

TEST(CheckHints, TakeTheirFindingAway) {
  std::set<std::pair<std::string_view, std::string_view>> applied;
  for (const Case& each : cases()) {
    const ane::Law* law = ane::find_law(each.law);
    ASSERT_NE(law, nullptr) << each.law;
    SCOPED_TRACE(each.law + std::string(": ") + each.hints.front());
    Compiled kept = each.breaks;
    for (const char* text : each.hints) {
      const Hint* hint = find_hint(*law, text);
      ASSERT_NE(hint, nullptr);
      apply(*hint, kept);
      applied.emplace(law->id, hint->text);
    }
    const std::size_t before = broken(each.breaks)[each.law];
    const std::size_t after = broken(kept)[each.law];
    EXPECT_GT(before, 0U);
    if (each.some_stay) {
      EXPECT_LT(after, before);
    } else {
      EXPECT_EQ(after, 0U);
    }
  }
  // Every hint that is typed was, but those of the test below.
  for (const ane::Law* law : ane::laws())
    for (const Hint& hint : ane::hints_of(*law))
      if (hint.kind < Hint::Kind::kRewrite && law->id != "target-version") {
        EXPECT_TRUE(applied.contains({law->id, hint.text})) << law->id << ": " << hint.text;
      }
}

TEST(CheckHints, OfTheTargetTakeTheFindingAway) {
  const TemporaryFolder folder;
  const ane::Law& law = *ane::find_law("target-version");
  const std::string compile = "compile '" + source_path("models/pocket/checkpoint") + "' -o '" +
                              folder.file("pocket") + "' ";
  EXPECT_EQ(run_anemone(compile).code, 0);
  const Outcome refused =
      run_anemone("check '" + folder.file("pocket") + "' --target ios17 --hints");
  EXPECT_EQ(refused.code, 1);
  std::size_t targets = 0;
  for (const Hint& hint : ane::hints_of(law)) {
    EXPECT_NE(refused.out.find("  hint: " + ane::hint_text(hint).substr(0, 40)), std::string::npos)
        << refused.out;
    if (hint.kind != Hint::Kind::kOption) continue;
    ++targets;
    EXPECT_EQ(run_anemone(compile + std::string(hint.text)).code, 0);
    const std::string checked = "check '" + folder.file("pocket") + "' " + std::string(hint.text);
    EXPECT_EQ(run_anemone(checked).code, 0) << checked;
  }
  EXPECT_EQ(targets, 2U);
}

// In each form of the report, and only when they are asked for.
TEST(CheckHints, StandInTextJsonAndPage) {
  const TemporaryFolder folder;
  const std::string package = folder.file("pocket");
  EXPECT_EQ(run_anemone("compile '" + source_path("models/pocket/checkpoint") + "' -o '" + package +
                        "' --quant int4-block")
                .code,
            0);
  const auto reports = [&](const std::string& flags) {
    const std::string page = folder.file("page.html");
    const std::string check = "check '" + package + "' " + flags;
    const Outcome text = run_anemone(check + " --html '" + page + "'");
    return std::vector<std::string>{text.out, run_anemone(check + " --json").out, contents(page)};
  };
  const auto with = reports("--hints");
  const auto without = reports("");
  EXPECT_NE(with[0].find("\n  hint: compile with --quant lut4\n  hint: compile with --quant "
                         "int8-channel\n  hint: rewrite the graph: store the weight as a palette"),
            std::string::npos)
      << with[0];
  EXPECT_EQ(without[0].find("hint:"), std::string::npos);
  const Json laws_with = json_of(with[1])["laws"];
  for (const Json& law : laws_with) {
    EXPECT_GT(law["hints"].size(), 0U);
    if (law["law"] == "block-scales") {
      EXPECT_EQ(law["hints"].size(), ane::hints_of(*ane::find_law("block-scales")).size());
      EXPECT_EQ(law["hints"][0], (Json{{"kind", "option"}, {"text", "--quant lut4"}}));
    }
  }
  const Json laws_without = json_of(without[1])["laws"];
  EXPECT_FALSE(laws_without.empty());
  for (const Json& law : laws_without) EXPECT_FALSE(law.contains("hints"));
  EXPECT_NE(with[2].find(R"("hints":[{"kind":"option","text":"--quant lut4"})"), std::string::npos);
  EXPECT_EQ(without[2].find(R"("hints":[)"), std::string::npos);
  // The model has one package of layers already, and no experts.
  EXPECT_NE(with[0].find("slow tiny-function"), std::string::npos) << with[0];
  EXPECT_EQ(with[0].find("--shards"), std::string::npos) << with[0];
  EXPECT_EQ(with[0].find("--experts"), std::string::npos) << with[0];
}

// `compile` did not write these packages, so that its options change nothing.
TEST(CheckHints, OfOtherWritersAreChangesOfTheGraph) {
  const std::string check =
      "check '" + source_path("tests/mlpackage/data/coremltools/int4_blocks_ios18.mlpackage") + "'";
  const Outcome text = run_anemone(check + " --hints");
  EXPECT_EQ(text.code, 1) << text.err;
  EXPECT_NE(text.out.find("\n  hint: rewrite the graph: store the weight as a palette"),
            std::string::npos)
      << text.out;
  EXPECT_EQ(text.out.find("hint: compile"), std::string::npos) << text.out;
  const Json report = json_of(run_anemone(check + " --hints --json").out);
  for (const Json& law : report["laws"])
    for (const Json& hint : law["hints"])
      EXPECT_TRUE(hint["kind"] == "rewrite" || hint["kind"] == "nothing") << hint;
}

// A model that is as large as those that people compile, in the default form.
TEST(CheckHints, AreNotNeededByTheDefaultForm) {
  const TemporaryFolder folder;
  Json config = json_of(contents(source_path("tests/compiler/data/tiny/llama/config.json")));
  config.update(json_of(R"({"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864,
                            "num_hidden_layers": 24, "num_attention_heads": 14, "head_dim": 64,
                            "num_key_value_heads": 2})"));
  const std::string model = folder.file("model");
  fs::create_directory(model);
  ASSERT_TRUE(write_file(model + "/config.json", config.dump()).ok());
  const Outcome planned =
      run_anemone("compile '" + model + "' -o '" + folder.file("out") + "' --dry-run");
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.out.find("\n0 refused, 0 slow, 0 contested\n"), std::string::npos)
      << planned.out;
  // The package of the final norm is small, which is no reason for a change.
  EXPECT_NE(planned.out.find("notes: tiny-function, small-package, "), std::string::npos)
      << planned.out;
  EXPECT_NE(planned.out.find("\n  form: portable (--report shows each choice and why)\n"),
            std::string::npos)
      << planned.out;
}

}  // namespace
}  // namespace anemone::cli

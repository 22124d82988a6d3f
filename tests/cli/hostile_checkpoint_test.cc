// SPDX-License-Identifier: Apache-2.0
// Damaged checkpoints: one line on stderr, the right exit code, and nothing left behind.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/hostile.h"
#include "tests/cli/interrupted.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::TemporaryFolder;

DamageFolder config_value(const std::string& key, const Json& value) {
  return json_of("config.json", "/" + key, value);
}

DamageFolder only_index(const std::string& text) {
  return [=](const std::string& folder) {
    fs::remove(folder + "/model.safetensors");
    write_text(folder + "/model.safetensors.index.json", text);
  };
}

class DamagedCheckpoint : public ::testing::TestWithParam<Case> {};

TEST_P(DamagedCheckpoint, IsRefusedAndLeavesNoOutput) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  fs::copy(tiny_checkpoint(), model);
  GetParam().damage(model);
  expect_refusal(run_limited({"compile", model, "-o", folder.file("out")}), GetParam().code);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

std::vector<Case> damaged_checkpoints() {
  std::vector<Case> cases;
  for (const char* key : {"num_attention_heads", "num_key_value_heads", "hidden_size",
                          "num_hidden_layers", "intermediate_size", "vocab_size"})
    for (const Json& value : {Json(0), Json(-1), Json(1e18), Json(1000000000000000000), Json("x"),
                              Json::array({1}), Json(1.5)})
      cases.push_back(
          {std::string(key) + "_" + dump_json(value), kBadInput, config_value(key, value)});
  cases.push_back({"head dim", kBadInput, config_value("head_dim", 2147483646)});
  cases.push_back({"model type", kUnsupported, config_value("model_type", "\x1b[31m\n")});
  cases.push_back({"model type number", kBadInput, config_value("model_type", 7)});
  cases.push_back({"activation", kUnsupported, config_value("hidden_act", "zz")});
  for (const char* rope :
       {R"("x")", R"({"rope_type": 5})", R"({"rope_type": "linear"})",
        R"({"rope_type": "linear", "factor": 1e-320})", R"({"rope_type": "yarn", "factor": -1})"})
    cases.push_back({"rope", kBadInput, config_value("rope_scaling", *parse_json(rope, "rope"))});
  for (const char* text : {"", "[1]", "{} x", "{\"model_type\":\"\xff\"}", "{\"model_type\": NaN}",
                           "{\"rope_theta\": NaN}"})
    cases.push_back({"config text", kBadInput, [=](const std::string& folder) {
                       write_text(folder + "/config.json", text);
                     }});
  cases.push_back({"deep config", kBadInput, [](const std::string& folder) {
                     write_text(folder + "/config.json", std::string(100'000, '['));
                   }});

  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 8, 100, 20'000})
    cases.push_back({fmt::format("weights cut to {}", size), kBadInput,
                     bytes_of("model.safetensors", [=](std::string& b) { b.resize(size); })});
  cases.push_back({"weights without the last byte", kBadInput,
                   bytes_of("model.safetensors", [](std::string& b) { b.pop_back(); })});
  cases.push_back({"weights with one more byte", kBadInput,
                   bytes_of("model.safetensors", [](std::string& b) { b += 'x'; })});
  cases.push_back({"endless header", kBadInput, bytes_of("model.safetensors", [](std::string& b) {
                     b.replace(0, 8, 8, '\xff');
                   })});
  for (const char* shape : {"[-1, 4]", "[1e18, 4]", "[4611686018427387904, 4611686018427387904]",
                            "\"x\"", "null", "[1.5]", "[[1]]", "[4294967296, 4294967296, 0]"})
    cases.push_back({"shape", kBadInput,
                     first_tensor("model.safetensors", "shape", *parse_json(shape, "shape"))});
  for (const char* offsets : {"[0, 1000000000000000000]", "[-1, 5]", "[5, 1]", "[0]",
                              "[\"a\", \"b\"]", "[9223372036854775808, 18446744073709551615]"})
    cases.push_back(
        {"offsets", kBadInput,
         first_tensor("model.safetensors", "data_offsets", *parse_json(offsets, "offsets"))});
  cases.push_back({"dtype", kUnsupported, first_tensor("model.safetensors", "dtype", "F99")});
  cases.push_back({"missing tensor", kBadInput, header_of("model.safetensors", [](Json& json) {
                     const std::string name = "model.layers.0.input_layernorm.weight";
                     ASSERT_TRUE(json.contains(name));
                     json["other"] = json[name];
                     json.erase(name);
                   })});
  cases.push_back({"no weights", kBadInput,
                   [](const std::string& folder) { fs::remove(folder + "/model.safetensors"); }});
  for (const char* index :
       {"x", "{}", R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": "../x"}})"})
    cases.push_back({"index", kBadInput, only_index(index)});
  cases.push_back({"index of no file", kIo, only_index(R"({"weight_map": {"a": "b"}})")});
  for (const char* kind : {"folder", "loop", "pipe", "endless"})
    cases.push_back(
        {std::string("weights are a ") + kind,
         std::string(kind) == "loop" || std::string(kind) == "endless" ? kBadInput : kIo,
         odd("model.safetensors", kind)});
  for (const char* kind : {"folder", "pipe"})
    cases.push_back({std::string("config is a ") + kind, kIo, odd("config.json", kind)});
  cases.push_back({"config is endless", kBadInput, odd("config.json", "endless")});
  cases.push_back({"generation config", kBadInput, [](const std::string& folder) {
                     write_text(folder + "/generation_config.json", "[1]");
                   }});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Compile, DamagedCheckpoint, ::testing::ValuesIn(damaged_checkpoints()),
                         case_name);

// Whatever a checkpoint consists of does not lie elsewhere: else it could hand out any file.
class CheckpointWithALink : public ::testing::TestWithParam<const char*> {};

TEST_P(CheckpointWithALink, DoesNotLeadOut) {
  const anemone::testing::TemporaryFolder folder;
  const std::string model = folder.file("model");
  const std::string name = GetParam();
  write_text(folder.file("secret"), "{\"secret\": 1}");
  const auto expect_refused = [&](const std::string& target) {
    SCOPED_TRACE(target);
    std::filesystem::remove_all(model);
    std::filesystem::copy(tiny_checkpoint(), model, std::filesystem::copy_options::recursive);
    if (name == "model.safetensors.index.json")
      std::filesystem::remove(model + "/model.safetensors");
    std::filesystem::remove(model + "/" + name);
    std::filesystem::create_symlink(target, model + "/" + name);
    const Outcome outcome = run_limited({"compile", model, "-o", folder.file("out")});
    expect_refusal(outcome, kBadInput);
    EXPECT_NE(outcome.err.find("its link leads out"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
    EXPECT_FALSE(std::filesystem::exists(folder.file("out.partial")));
  };
  expect_refused("/etc/passwd");
  expect_refused("../secret");
  expect_refused(std::filesystem::absolute(tiny_checkpoint() + "/config.json").string());
}

INSTANTIATE_TEST_SUITE_P(Compile, CheckpointWithALink,
                         ::testing::Values("config.json", "generation_config.json",
                                           "model.safetensors", "model.safetensors.index.json",
                                           "tokenizer.json", "tokenizer_config.json",
                                           "special_tokens_map.json", "chat_template.jinja"));

// The layout of the hub's cache, which `pull` makes: every file is a link into blobs/.
TEST(CheckpointOfTheHub, IsReadThroughItsLinks) {
  namespace fs = std::filesystem;
  const anemone::testing::TemporaryFolder folder;
  const std::string repository = folder.file("models--o--n");
  fs::create_directories(repository + "/snapshots/c0ffee");
  fs::copy(tiny_checkpoint(), repository + "/blobs", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(repository + "/blobs"))
    fs::create_symlink("../../blobs/" + entry.path().filename().string(),
                       repository + "/snapshots/c0ffee/" + entry.path().filename().string());
  EXPECT_EQ(
      run_limited({"compile", repository + "/snapshots/c0ffee", "-o", folder.file("out")}).code, 0);
}

}  // namespace
}  // namespace anemone::cli

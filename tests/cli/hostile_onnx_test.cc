// SPDX-License-Identifier: Apache-2.0
// Damaged ONNX bundles through compile: one line, the right exit code, no output.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/hostile.h"
#include "tests/cli/interrupted.h"
#include "tests/support/shared_data.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::TemporaryFolder;

constexpr const char* kGraph = "model.onnx";
constexpr const char* kData = "model.onnx.data";
constexpr const char* kSettings = "genai_config.json";

void write_good_bundle(const std::string& folder) {
  fs::create_directory(folder);
  for (const char* name : {kGraph, kData, kSettings})
    fs::copy_file(anemone::testing::source_path("tests/checkpoint/data/onnx/") + name,
                  folder + "/" + name);
}

// All places of a text in the graph: names, attributes, operators. Lengths stay, or nothing would
// be a message any more.
DamageFolder renamed(const std::string& from, const std::string& to) {
  return bytes_of(kGraph, [=](std::string& bytes) {
    ASSERT_EQ(from.size(), to.size());
    std::size_t found = 0;
    for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; ++found)
      bytes.replace(at, from.size(), to);
    ASSERT_GT(found, 0U) << from;
  });
}

class HostileOnnx : public ::testing::TestWithParam<Case> {};

TEST_P(HostileOnnx, CompileRefusesItAndLeavesNoOutput) {
  const TemporaryFolder folder;
  write_good_bundle(folder.file("in"));
  GetParam().damage(folder.file("in"));
  expect_refusal(run_limited({"compile", folder.file("in"), "-o", folder.file("out")}),
                 GetParam().code);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"in"});
}

TEST(HostileOnnxBundle, TheGoodOneCompiles) {
  const TemporaryFolder folder;
  write_good_bundle(folder.file("in"));
  const Outcome good = run_limited({"compile", folder.file("in"), "-o", folder.file("out")});
  EXPECT_EQ(good.code, 0) << good.err;
}

std::vector<Case> damaged_bundles() {
  std::vector<Case> cases;
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 100, 5000, 13'600})
    cases.push_back({fmt::format("graph cut to {}", size), 0,
                     bytes_of(kGraph, [=](std::string& b) { b.resize(size); })});
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 6000})
    cases.push_back({fmt::format("data cut to {}", size), kBadInput,
                     bytes_of(kData, [=](std::string& b) { b.resize(size); })});
  cases.push_back({"data without the last byte", kBadInput,
                   bytes_of(kData, [](std::string& b) { b.pop_back(); })});
  cases.push_back(
      {"no graph at all", 0, bytes_of(kGraph, [](std::string& b) { b.assign(10'000, '\xff'); })});
  cases.push_back({"zeros", 0, bytes_of(kGraph, [](std::string& b) { b.assign(10'000, '\0'); })});

  cases.push_back({"operator", kUnsupported, renamed("MatMulNBits", "MatMulXBits")});
  cases.push_back(
      {"attention operator", kUnsupported, renamed("GroupQueryAttention", "GroupQueryAttentiox")});
  cases.push_back({"activation", 0, renamed("Sigmoid", "Sigmoix")});
  cases.push_back(
      {"norm", 0, renamed("SimplifiedLayerNormalization", "SimplifiedLayerNormalizatiox")});
  cases.push_back({"reshape", 0, renamed("Reshape", "Reshapx")});
  cases.push_back({"no heads", 0, renamed("num_heads", "nux_heads")});
  cases.push_back({"no block size", 0, renamed("block_size", "block_sixe")});
  cases.push_back({"no logits", 0, renamed("logits", "logitx")});
  cases.push_back({"no ids", 0, renamed("input_ids", "input_idx")});
  cases.push_back({"no weight", 0, bytes_of(kGraph, [](std::string& b) {
                     const std::size_t at = b.rfind("post_attention_layernorm.weight");
                     ASSERT_NE(at, std::string::npos);
                     b[at] = 'x';
                   })});
  // Data outside of the bundle are none of its business.
  cases.push_back({"data above", 0, renamed("model.onnx.data", "../ab/onnx.data")});
  cases.push_back({"data anywhere", 0, renamed("model.onnx.data", "/etc/passwd////")});
  cases.push_back({"data elsewhere", 0, renamed("model.onnx.data", "model.onnx.dath")});

  for (const char* text : {"", "x", "[]", "{}", "{\"model\": 3}", "{\"model\": {}}"})
    cases.push_back({fmt::format("settings {}", text), 0, [=](const std::string& folder) {
                       write_text(folder + "/" + kSettings, text);
                     }});
  cases.push_back({"deep settings", kBadInput, [](const std::string& folder) {
                     write_text(folder + "/" + kSettings, std::string(100'000, '['));
                   }});
  cases.push_back({"no decoder", 0, json_without(kSettings, "/model/decoder")});
  for (const Json& value :
       {Json("../model.onnx"), Json("/etc/passwd"), Json("absent.onnx"), Json(""), Json(3)})
    cases.push_back(
        {"filename " + value.dump(), 0, json_of(kSettings, "/model/decoder/filename", value)});
  for (const Json& value : {Json(-1), Json(0), Json("x"), Json(1e30)})
    cases.push_back(
        {"context length " + value.dump(), 0, json_of(kSettings, "/model/context_length", value)});
  for (const Json& value : {Json("x"), Json(1.5), Json::object()})
    cases.push_back({"eos " + value.dump(), 0, json_of(kSettings, "/model/eos_token_id", value)});

  for (const char* file : {kGraph, kData, kSettings})
    for (const char* kind : {"folder", "pipe", "endless", "loop", "removed"})
      cases.push_back({fmt::format("{} is {}", file, kind), 0, odd(file, kind)});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Compile, HostileOnnx, ::testing::ValuesIn(damaged_bundles()), case_name);

}  // namespace
}  // namespace anemone::cli

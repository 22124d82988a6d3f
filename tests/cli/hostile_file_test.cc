// SPDX-License-Identifier: Apache-2.0
// Damaged safetensors files, tokenizers and manifests through inspect.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/hostile.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

void expect_inspect_refuses(const std::string& good, const std::string& inspected,
                            const Case& damage) {
  const TemporaryFolder folder;
  const std::string copy = folder.file("copy");
  fs::copy(good, copy, fs::copy_options::recursive);
  damage.damage(copy);
  expect_refusal(run_limited({"inspect", copy + inspected}), damage.code);
  expect_refusal(run_limited({"inspect", "--strict", "--json", copy + inspected}), damage.code);
}

// --- safetensors

constexpr const char* kTensors = "model.safetensors";

std::vector<Case> damaged_safetensors() {
  std::vector<Case> cases;
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 7, 8, 9, 64, 4000})
    cases.push_back({fmt::format("cut to {}", size), kBadInput,
                     bytes_of(kTensors, [=](std::string& b) { b.resize(size); })});
  cases.push_back(
      {"one byte less", kBadInput, bytes_of(kTensors, [](std::string& b) { b.pop_back(); })});
  cases.push_back(
      {"one byte more", kBadInput, bytes_of(kTensors, [](std::string& b) { b += '\0'; })});
  for (const int byte : {0x00, 0x7f, 0x80, 0xff})
    cases.push_back(
        {fmt::format("header length of {:02x}", byte), kBadInput,
         bytes_of(kTensors, [=](std::string& b) { b.replace(0, 8, 8, static_cast<char>(byte)); })});
  cases.push_back({"header that is no JSON", kBadInput,
                   bytes_of(kTensors, [](std::string& b) { b[8] = '['; })});
  cases.push_back({"header that is not UTF-8", kBadInput,
                   bytes_of(kTensors, [](std::string& b) { b[10] = '\xff'; })});
  cases.push_back({"header of deep nesting", kBadInput, bytes_of(kTensors, [](std::string& b) {
                     b = std::string("\x40\x42\x0f\0\0\0\0\0", 8) + std::string(1'000'000, '[');
                   })});
  cases.push_back({"header of a deep object", kBadInput, bytes_of(kTensors, [](std::string& b) {
                     std::string text;
                     while (text.size() < 1'000'000) text += "{\"a\":";
                     text.resize(1'000'000);
                     b = std::string("\x40\x42\x0f\0\0\0\0\0", 8) + text;
                   })});
  for (const char* shape :
       {"[-1]", "[1e18]", "[4294967296, 4294967296]", "[9223372036854775807, 2]", "{}", "null",
        "[1.5]", "[[1]]", "[true]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]", "[0]"})
    cases.push_back({fmt::format("shape {}", shape), kBadInput,
                     first_tensor(kTensors, "shape", *parse_json(shape, "shape"))});
  for (const char* offsets :
       {"[0, 9223372036854775807]", "[-2, 0]", "[4, 2]", "[]", "[0, 2, 4]", "[0.5, 2]", "{}",
        "[18446744073709551615, 18446744073709551615]", "[0, 0]"})
    cases.push_back({fmt::format("offsets {}", offsets), kBadInput,
                     first_tensor(kTensors, "data_offsets", *parse_json(offsets, "offsets"))});
  cases.push_back({"unknown dtype", kUnsupported, first_tensor(kTensors, "dtype", "F4096")});
  cases.push_back({"dtype number", kBadInput, first_tensor(kTensors, "dtype", 16)});
  cases.push_back({"wider dtype", kBadInput, first_tensor(kTensors, "dtype", "F64")});
  cases.push_back({"narrower dtype", kBadInput, first_tensor(kTensors, "dtype", "U8")});
  cases.push_back({"two tensors at one place", kBadInput, header_of(kTensors, [](Json& json) {
                     std::vector<std::string> names;
                     for (const auto& [name, entry] : json.items())
                       if (name != "__metadata__") names.push_back(name);
                     json[names[1]] = json[names[0]];
                   })});
  cases.push_back({"tensor that is a list", kBadInput,
                   header_of(kTensors, [](Json& json) { json["x"] = Json::array({1}); })});
  cases.push_back({"metadata that is a list", kBadInput, header_of(kTensors, [](Json& json) {
                     json["__metadata__"] = Json::array({1});
                   })});
  cases.push_back({"metadata that holds numbers", kBadInput, header_of(kTensors, [](Json& json) {
                     json["__metadata__"] = {{"a", 1}};
                   })});
  for (const char* kind : {"pipe", "endless", "loop"})
    cases.push_back({kind, kIo, odd(kTensors, kind)});
  cases.push_back({"folder", kUnsupported, odd(kTensors, "folder")});
  return cases;
}

class HostileSafetensors : public ::testing::TestWithParam<Case> {};
TEST_P(HostileSafetensors, IsRefusedByInspect) {
  expect_inspect_refuses(tiny_checkpoint(), std::string("/") + kTensors, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, HostileSafetensors, ::testing::ValuesIn(damaged_safetensors()),
                         case_name);

// --- tokenizers

constexpr const char* kTokenizer = "tokenizer.json";

std::vector<Case> damaged_tokenizers() {
  std::vector<Case> cases;
  const auto text = [&](const char* name, const std::string& content) {
    cases.push_back({name, kBadInput, [=](const std::string& folder) {
                       write_text(folder + "/tokenizer.json", content);
                     }});
  };
  text("empty", "");
  text("null", "null");
  text("list", "[]");
  text("no model", "{}");
  text("model number", "{\"model\": 1}");
  text("zero byte", std::string("{\"model\": {}}\0", 14));
  text("not UTF-8", "{\"model\": \"\xff\xfe\"}");
  text("twice", "{\"model\": {}, \"model\": {}}");
  text("deep list", std::string(1'000'000, '['));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"model\":";
  text("deep object", deep);
  text("trailing", "{} {}");
  cases.push_back(
      {"half", kBadInput, bytes_of(kTokenizer, [](std::string& b) { b.resize(b.size() / 2); })});
  cases.push_back({"without the last byte", kBadInput, bytes_of(kTokenizer, [](std::string& b) {
                     while (b.back() != '}') b.pop_back();
                     b.pop_back();
                   })});
  const auto set = [&](const char* pointer, const char* value, int code = kBadInput) {
    cases.push_back({fmt::format("{} {}", pointer, value), code,
                     json_of(kTokenizer, pointer, *parse_json(value, "value"))});
  };
  set("/model", "[]");
  set("/model/type", "\"WordPiece\"", kUnsupported);
  set("/model/type", "5");
  set("/model/vocab", "[]");
  set("/model/vocab", "{\"a\": 1e99}");
  set("/model/vocab", "{\"a\": -1}");
  set("/model/vocab", "{\"a\": 2147483647}");
  set("/model/vocab", "{\"a\": 99999999999999999999}");
  set("/model/vocab", "{\"a\": 0, \"b\": 0}");
  set("/model/vocab", "{\"a\": \"b\"}");
  set("/model/merges", "{}");
  set("/model/merges", "[1]");
  set("/model/merges", "[\"a\"]");
  set("/model/merges", "[\"a b c\"]");
  set("/model/merges", "[[\"a\"]]");
  set("/model/merges", "[[\"a\", \"no such entry\"]]");
  set("/model/unk_token", "\"no such entry\"");
  set("/model/dropout", "0.5", kUnsupported);
  set("/added_tokens", "{}");
  set("/added_tokens", "[1]");
  set("/added_tokens", "[{\"id\": -1, \"content\": \"x\"}]");
  set("/added_tokens", "[{\"id\": 4294967296, \"content\": \"x\"}]");
  set("/added_tokens", "[{\"id\": 5000, \"content\": \"x\"}, {\"id\": 5000, \"content\": \"y\"}]");
  set("/normalizer", "{\"type\": \"Nmt\"}", kUnsupported);
  set("/normalizer", "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(\"}, \"content\": \"\"}");
  set("/pre_tokenizer", "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?R)\"}}", kUnsupported);
  set("/pre_tokenizer", "{\"type\": 7}");
  set("/pre_tokenizer", "{\"type\": \"Sequence\", \"pretokenizers\": 1}");
  set("/post_processor", "{\"type\": \"Bert\"}", kUnsupported);
  set("/decoder", "{\"type\": \"\\u001b[31m\"}", kUnsupported);
  return cases;
}

class HostileTokenizer : public ::testing::TestWithParam<Case> {};
TEST_P(HostileTokenizer, IsRefusedByInspect) {
  expect_inspect_refuses(source_path("models/pocket/checkpoint"), std::string("/") + kTokenizer,
                         GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, HostileTokenizer, ::testing::ValuesIn(damaged_tokenizers()),
                         case_name);

// --- manifests of artifacts

constexpr const char* kManifest = "manifest.json";
constexpr const char* kWeights = "head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";

std::vector<Case> damaged_manifests() {
  std::vector<Case> cases;
  const auto set = [&](const char* pointer, const char* value, int code = kBadInput) {
    cases.push_back({fmt::format("{} {}", pointer, value), code,
                     json_of(kManifest, pointer, *parse_json(value, "value"))});
  };
  set("/format_version", "99");
  set("/format_version", "-1");
  set("/layers", "2147483648");
  set("/vocab_size", "9223372036854775807");
  set("/context", "1e300");
  set("/hidden_size", "\"64\"");
  set("/shards", "{}");
  set("/shards/0/package", "\"../../../etc\"");
  set("/shards/0/package", "\"/etc\"");
  set("/shards/0/inputs/0/role", "\"\\u001b[2J\"", kUnsupported);
  set("/shards/0/caches/0/shape", "[9223372036854775807, 9223372036854775807]");
  set("/ropes/0/inv_freq", "[1e39]");
  set("/embedding/parts/0/file", "\"../embedding.bin\"");
  set("/embedding/rows", "1000000000000");
  set("/embedding/parts/0/quantization/block_rows", "0");
  set("/embedding/parts/0/quantization/block_columns", "9223372036854775807");
  set("/embedding/parts/0/quantization/offset", "18446744073709551614");
  set("/files/0/path", "\"../../../../etc/passwd\"");
  set("/files/0/path", "\"a\\u0000b\"");
  set("/files/0/bytes", "18446744073709551615");
  set("/files/0/sha256", "\"00\"");
  set("/verification", "{}");
  set("/verification", "[1]");
  for (const char* member : {"/format_version", "/shards", "/heads", "/embedding", "/files"})
    cases.push_back(
        {fmt::format("without {}", member), kBadInput, json_without(kManifest, member)});
  cases.push_back(
      {"half", kBadInput, bytes_of(kManifest, [](std::string& b) { b.resize(b.size() / 2); })});
  cases.push_back({"deep", kBadInput, bytes_of(kManifest, [](std::string& b) {
                     b = "{\"a\":" + std::string(500'000, '[');
                   })});
  cases.push_back(
      {"huge name", kBadInput, json_of(kManifest, "/files/0/path", std::string(1'000'000, '\n'))});
  cases.push_back({"file that is gone", kBadInput, odd(kWeights, "removed")});
  cases.push_back({"file that is a folder", kBadInput, odd(kWeights, "folder")});
  cases.push_back({"file that is endless", kBadInput, odd(kWeights, "endless")});
  cases.push_back({"file that is a pipe", kBadInput, odd(kWeights, "pipe")});
  cases.push_back(
      {"another byte", kBadInput, bytes_of(kWeights, [](std::string& b) { b[7] ^= 1; })});
  for (const char* kind : {"folder", "pipe"})
    cases.push_back({fmt::format("manifest is a {}", kind), kIo, odd(kManifest, kind)});
  cases.push_back({"manifest is endless", kBadInput, odd(kManifest, "endless")});
  return cases;
}

class HostileManifest : public ::testing::TestWithParam<Case> {};
TEST_P(HostileManifest, IsRefusedByInspect) {
  expect_inspect_refuses(tiny_artifact(), "", GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, HostileManifest, ::testing::ValuesIn(damaged_manifests()),
                         case_name);

}  // namespace
}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
// Damaged GGUF files through compile, inspect and export: one line, the right exit code, no output.
#include <filesystem>
#include <fmt/format.h>

#include "base/file.h"
#include "tests/cli/hostile.h"
#include "tests/cli/interrupted.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::cli {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::TemporaryFolder;

constexpr const char* kGguf = "model.gguf";

// More metadata or tensors than the good file has.
DamageFolder more(const std::function<void(GgufBuilder&)>& add) {
  return [=](const std::string& folder) {
    GgufBuilder builder = anemone::testing::tiny_gguf_metadata();
    anemone::testing::add_tiny_gguf_tensors(builder);
    add(builder);
    builder.write(folder + "/" + kGguf);
  };
}

// A good file whose metadata are others.
DamageFolder other_text(const std::string& from, const std::string& to) {
  return bytes_of(kGguf, [=](std::string& bytes) {
    const std::size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(from.size(), to.size());
    bytes.replace(at, from.size(), to);
  });
}

void write_good(const std::string& folder) {
  std::filesystem::create_directory(folder);
  write_text(folder + "/" + kGguf, anemone::testing::tiny_gguf());
}

class HostileGguf : public ::testing::TestWithParam<Case> {};

TEST_P(HostileGguf, CompileRefusesItAndLeavesNoOutput) {
  const TemporaryFolder folder;
  write_good(folder.file("in"));
  GetParam().damage(folder.file("in"));
  const std::string model = folder.file("in") + "/" + kGguf;
  expect_refusal(run_limited({"compile", model, "-o", folder.file("out")}), GetParam().code);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"in"});
}

TEST(HostileGgufFile, EveryHundredthTruncationIsRefusedByInspectAndExport) {
  const TemporaryFolder folder;
  const std::string good = anemone::testing::tiny_gguf();
  const std::string model = folder.file("model.gguf");
  for (std::size_t size = 4; size < good.size(); size += 700) {
    write_text(model, good.substr(0, size));
    expect_refusal(run_limited({"inspect", model}), kBadInput);
    expect_refusal(run_limited({"export", model, "-o", folder.file("out")}), kBadInput);
  }
}

// Within the ten seconds of run_limited(): with the square of their number it would take a minute.
TEST(HostileGgufFile, ManyMetadataKeysAreShownInTimeOfTheirNumber) {
  const TemporaryFolder folder;
  GgufBuilder builder = anemone::testing::tiny_gguf_metadata();
  // In the square of their number a tenth of them would take minutes, too.
  const int keys = anemone::testing::kIsSanitized ? 30'000 : 300'000;
  for (int i = 0; i < keys; ++i) builder.u32(fmt::format("k{}", i), 1);
  const std::string model = folder.file("model.gguf");
  write_text(model, anemone::testing::add_tiny_gguf_tensors(builder).bytes());
  EXPECT_EQ(run_limited({"inspect", "--json", model}).code, 0);
}

std::vector<Case> damaged_gguf() {
  std::vector<Case> cases;
  for (const std::size_t size : std::initializer_list<std::size_t>{4, 8, 24, 100, 1000, 3000})
    cases.push_back({fmt::format("cut to {}", size), kBadInput,
                     bytes_of(kGguf, [=](std::string& b) { b.resize(size); })});
  cases.push_back({"empty", kBadInput, bytes_of(kGguf, [](std::string& b) { b.clear(); })});
  cases.push_back(
      {"other magic", kUnsupported, bytes_of(kGguf, [](std::string& b) { b[0] = 'g'; })});
  cases.push_back({"version", 0, bytes_of(kGguf, [](std::string& b) { b[4] = 9; })});
  for (const std::size_t at : {8U, 16U})  // counts of tensors and of values
    for (const char byte : {'\x7f', '\xff'})
      cases.push_back({fmt::format("count at {} of {}", at, static_cast<unsigned char>(byte)),
                       kBadInput,
                       bytes_of(kGguf, [=](std::string& b) { b.replace(at, 8, 8, byte); })});
  cases.push_back({"architecture", kUnsupported, other_text("llama", "zzzzz")});
  cases.push_back(
      {"missing size", kBadInput, other_text("llama.block_count", "llama.block_counk")});
  cases.push_back(
      {"missing tensor", kUnsupported, other_text("blk.0.ffn_up.weight", "blk.0.ffn_ux.weight")});
  cases.push_back(
      {"other layer", kBadInput, other_text("blk.0.ffn_up.weight", "blk.9.ffn_up.weight")});
  cases.push_back(
      {"unknown key", kUnsupported, more([](GgufBuilder& b) { b.u32("llama.expert_count", 8); })});
  cases.push_back({"unknown tensor", kUnsupported,
                   more([](GgufBuilder& b) { b.f32_tensor("blk.0.extra.weight", {1}, {1}); })});
  cases.push_back({"huge tensor", kBadInput, more([](GgufBuilder& b) {
                     b.tensor("x", {1ULL << 40, 1ULL << 20}, 0, "");
                   })});
  cases.push_back({"head length of another size", 0,
                   more([](GgufBuilder& b) { b.u32("llama.attention.key_length", 20); })});
  cases.push_back({"head length of zero", 0,
                   more([](GgufBuilder& b) { b.u32("llama.attention.key_length", 0); })});
  cases.push_back({"rope factors", kBadInput, more([](GgufBuilder& b) {
                     b.f32_tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 0, 1, 1, 1});
                   })});
  cases.push_back({"rope scaling", kUnsupported,
                   more([](GgufBuilder& b) { b.text("llama.rope.scaling.type", "other"); })});
  cases.push_back({"split", kBadInput, more([](GgufBuilder& b) { b.u32("split.count", 4); })});
  cases.push_back({"tokenizer model", kUnsupported, other_text("gpt2", "gpt9")});
  cases.push_back({"pre-tokenizer", kUnsupported, other_text("qwen2", "qwen9")});
  for (const char* kind : {"pipe", "endless", "loop"}) cases.push_back({kind, 0, odd(kGguf, kind)});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Compile, HostileGguf, ::testing::ValuesIn(damaged_gguf()), case_name);

struct RenamedKey {
  const char* file;
  const char* key;
};

// Keys without which layers that are not alike cannot be told apart.
const RenamedKey kRenamedKeys[] = {
    {"gemma4_text", "gemma4.attention.sliding_window_pattern"},
    {"gemma4_text", "gemma4.attention.key_length"},
    {"gemma4_text", "gemma4.attention.key_length_swa"},
    {"gemma4_text", "gemma4.attention.shared_kv_layers"},
    {"gemma4_text", "gemma4.feed_forward_length"},
    {"gemma4_text", "gemma4.rope.freq_base_swa"},
    {"gemma4_text", "gemma4.embedding_length_per_layer_input"},
    {"gemma4_moe", "gemma4.expert_used_count"},
    {"gemma4_moe", "gemma4.expert_feed_forward_length"},
    {"gpt_oss_mxfp4", "gpt-oss.attention.sliding_window"},
    {"gpt_oss_mxfp4", "gpt-oss.expert_count"},
    {"qwen3_next", "qwen3next.attention.recurrent_layers"},
    {"qwen3_next", "qwen3next.expert_shared_feed_forward_length"},
    {"qwen3_next", "qwen3next.ssm.conv_kernel"},
    {"qwen3_5_text", "qwen35.ssm.group_count"},
    {"qwen3_5_text", "qwen35.ssm.inner_size"},
};

TEST(HostileGgufFile, AKeyOfItsArchitectureUnderAnotherNameIsRefused) {
  for (const auto& [file, key] : kRenamedKeys) {
    SCOPED_TRACE(key);
    const TemporaryFolder folder;
    const std::string model = folder.file("model.gguf");
    std::filesystem::copy_file(
        anemone::testing::source_path(fmt::format("tests/compiler/data/gguf/{}.gguf", file)),
        model);
    const auto bytes = read_file(model);
    ASSERT_TRUE(bytes.ok());
    // A key has its length in 8 bytes before it.
    std::string name(8, '\0');
    name[0] = static_cast<char>(std::string_view(key).size());
    name += key;
    std::string damaged = *bytes;
    const std::size_t at = damaged.find(name);
    ASSERT_NE(at, std::string::npos);
    damaged[at + name.size() - 1] = 'Z';
    write_text(model, damaged);
    expect_refusal(run_limited({"compile", model, "-o", folder.file("out")}), 0);
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model.gguf"});
  }
}

}  // namespace
}  // namespace anemone::cli

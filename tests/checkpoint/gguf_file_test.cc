// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_file.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>

#include "checkpoint/gguf/gguf_source.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint::gguf {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::TemporaryFolder;

GgufBuilder small_file() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama")
      .u32("count", 7)
      .f32("eps", 0.001F)
      .boolean("flag", true)
      .texts("names", {"a", "", "ccc"})
      .i32s("ids", {-1, 2})
      .f32s("scores", {0.5F, -1})
      .f32_tensor("m", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})
      .f32_tensor("v", {3}, {8, 9, 10});
  return builder;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(GgufFile, ReadsMetadataOfEveryKindAndTensorsOutermostFirst) {
  const TemporaryFolder folder;
  small_file().write(folder.file("a.gguf"));
  const auto file = GgufFile::open(folder.file("a.gguf"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Metadata& metadata = (*file)->metadata();
  EXPECT_EQ(**metadata.text("general.architecture"), "llama");
  EXPECT_EQ(**metadata.integer("count"), 7);
  EXPECT_EQ(**metadata.number("count"), 7.0);
  EXPECT_EQ(**metadata.number("eps"), 0.001);
  EXPECT_EQ(**metadata.boolean("flag"), true);
  EXPECT_EQ(**metadata.texts("names"), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(**metadata.integers("ids"), (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(**metadata.floats("scores"), (std::vector<float>{0.5F, -1}));
  EXPECT_FALSE(metadata.integer("none")->has_value());
  EXPECT_FALSE(metadata.integer("eps").ok());
  EXPECT_FALSE(metadata.text("count").ok());
  EXPECT_FALSE(metadata.texts("ids").ok());

  const TensorInfo* tensor = (*file)->find("m");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (Shape{2, 4}));
  const auto source = make_plain_source(*file);
  EXPECT_EQ(to_floats(source->find("v")->view()), (std::vector<float>{8, 9, 10}));
}

TEST(GgufFile, RowsOfHeadsAreUndone) {
  const TemporaryFolder folder;
  GgufBuilder()
      .f32_tensor("q", {8, 1}, {0, 1, 2, 3, 4, 5, 6, 7})
      .f32_tensor("b", {8}, {0, 1, 2, 3, 4, 5, 6, 7})
      .write(folder.file("a.gguf"));
  const auto file = GgufFile::open(folder.file("a.gguf"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto source =
      make_source(*file, {{(*file)->find("q"), "q", 4}, {(*file)->find("b"), "b", 4}});
  for (const char* name : {"q", "b"}) {
    std::vector<float> values(8);
    read_floats(*source->find(name), 0, values);
    EXPECT_EQ(values, (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7})) << name;
    values.resize(3);
    read_floats(*source->find(name), 1, values);
    EXPECT_EQ(values, (std::vector<float>{2, 1, 3})) << name;
  }
}

TEST(GgufFile, ReadsSplitFilesFromAnyPart) {
  const TemporaryFolder folder;
  const auto part = [](std::uint32_t number) {
    GgufBuilder builder;
    builder.raw("split.no", 2, std::string(1, static_cast<char>(number)) + '\0')
        .raw("split.count", 2, std::string("\2\0", 2))
        .raw("split.tensors.count", 5, std::string("\2\0\0\0", 4));
    return builder;
  };
  const std::string first = folder.file("m-00001-of-00002.gguf");
  const std::string second = folder.file("m-00002-of-00002.gguf");
  part(0).text("general.name", "split").f32_tensor("a", {1}, {1}).write(first);
  part(1).f32_tensor("b", {1}, {2}).write(second);
  for (const std::string& path : {first, second}) {
    const auto file = GgufFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ((*file)->tensors().size(), 2U);
    EXPECT_EQ((*file)->files(), (std::vector<std::string>{first, second}));
    EXPECT_EQ(**(*file)->metadata().text("general.name"), "split");
  }
  // The file that was named may be a link; the parts beside it lie beside it.
  namespace fs = std::filesystem;
  fs::create_directory(folder.file("farm"));
  const std::string linked = folder.file("farm/m-00001-of-00002.gguf");
  fs::create_symlink(first, linked);
  fs::copy(second, folder.file("farm/m-00002-of-00002.gguf"));
  EXPECT_TRUE(GgufFile::open(linked).ok());
  fs::remove(folder.file("farm/m-00002-of-00002.gguf"));
  fs::create_symlink(second, folder.file("farm/m-00002-of-00002.gguf"));
  const Status led_out = GgufFile::open(linked).status();
  EXPECT_EQ(led_out.code(), Code::kCorrupt);
  EXPECT_NE(led_out.message().find("its link leads out"), std::string::npos) << led_out.message();
  part(1).f32_tensor("a", {1}, {2}).write(second);
  EXPECT_EQ(GgufFile::open(first).status().code(), Code::kCorrupt);
  part(0).f32_tensor("b", {1}, {2}).write(second);
  EXPECT_EQ(GgufFile::open(first).status().code(), Code::kCorrupt);
  std::filesystem::remove(second);
  EXPECT_EQ(GgufFile::open(first).status().code(), Code::kIo);
  std::filesystem::rename(first, folder.file("renamed.gguf"));
  EXPECT_EQ(GgufFile::open(folder.file("renamed.gguf")).status().code(), Code::kCorrupt);
}

TEST(GgufFile, EveryTruncationOfAGoodFileIsRefused) {
  const TemporaryFolder folder;
  const std::string good = small_file().bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(folder.file("a.gguf"), good.substr(0, size));
    const Status status = GgufFile::open(folder.file("a.gguf")).status();
    ASSERT_FALSE(status.ok()) << size;
    ASSERT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(GgufFile, RefusesWhatDoesNotFitTogether) {
  struct Case {
    const char* what;
    Code code;
    std::function<void(GgufBuilder&)> damage;
  };
  const std::uint64_t huge = std::uint64_t{1} << 40;
  const Case cases[] = {
      {"version 1", Code::kVersionMismatch, [](GgufBuilder& b) { b.version = 1; }},
      {"big-endian", Code::kVersionMismatch, [](GgufBuilder& b) { b.version = 3U << 24; }},
      {"key twice", Code::kCorrupt, [](GgufBuilder& b) { b.u32("count", 1); }},
      {"value type", Code::kCorrupt, [](GgufBuilder& b) { b.raw("x", 99, "abcd"); }},
      {"array of arrays", Code::kUnsupported,
       [](GgufBuilder& b) { b.raw("x", 9, std::string("\x09\0\0\0\1\0\0\0\0\0\0\0", 12)); }},
      {"endless array", Code::kCorrupt,
       [](GgufBuilder& b) { b.raw("x", 9, "\4" + std::string(3, '\0') + std::string(8, '\xff')); }},
      {"endless string", Code::kCorrupt,
       [](GgufBuilder& b) { b.raw("x", 8, std::string(8, '\xff')); }},
      {"alignment 3", Code::kCorrupt, [](GgufBuilder& b) { b.u32("general.alignment", 3); }},
      {"alignment 1", Code::kCorrupt, [](GgufBuilder& b) { b.u32("general.alignment", 1); }},
      {"alignment text", Code::kParseError,
       [](GgufBuilder& b) { b.text("general.alignment", "x"); }},
      {"parts", Code::kCorrupt, [](GgufBuilder& b) { b.u32("split.count", 1U << 31); }},
      {"tensor twice", Code::kCorrupt, [](GgufBuilder& b) { b.f32_tensor("m", {1}, {1}); }},
      {"tensor without a name", Code::kCorrupt, [](GgufBuilder& b) { b.f32_tensor("", {1}, {1}); }},
      {"tensor type", Code::kUnsupported, [](GgufBuilder& b) { b.tensor("x", {1}, 77, "abcd"); }},
      {"five dimensions", Code::kCorrupt,
       [](GgufBuilder& b) {
         b.tensor("x", {1, 1, 1, 1, 1}, 0, "abcd");
       }},
      {"half a block", Code::kCorrupt,
       [](GgufBuilder& b) { b.tensor("x", {16}, 8, std::string(34, 'x')); }},
      {"huge shape", Code::kCorrupt,
       [=](GgufBuilder& b) {
         b.tensor("x", {huge, huge}, 0, "");
       }},
      {"huge tensor", Code::kCorrupt, [=](GgufBuilder& b) { b.tensor("x", {huge}, 0, "abcd"); }},
      {"offset past the end", Code::kCorrupt,
       [=](GgufBuilder& b) { b.tensor_at("x", {1}, 0, huge, "abcd"); }},
      {"odd offset", Code::kCorrupt, [](GgufBuilder& b) { b.tensor_at("x", {1}, 0, 4, "abcd"); }},
      {"overlap", Code::kCorrupt, [](GgufBuilder& b) { b.tensor_at("x", {1}, 0, 0, "abcd"); }},
  };
  const TemporaryFolder folder;
  for (const Case& each : cases) {
    GgufBuilder builder = small_file();
    each.damage(builder);
    builder.write(folder.file("a.gguf"));
    const Status status = GgufFile::open(folder.file("a.gguf")).status();
    EXPECT_EQ(status.code(), each.code) << each.what << ": " << status.message();
    EXPECT_TRUE(status.message().starts_with("[" + folder.file("a.gguf"))) << status.message();
  }
}

}  // namespace
}  // namespace anemone::checkpoint::gguf

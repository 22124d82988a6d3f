// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using ::anemone::testing::TemporaryFolder;

// A file with the given header text and data.
std::string file_bytes(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

TEST(Safetensors, RoundTripsTensorsOfEveryDtype) {
  TemporaryFolder folder;
  const Tensor floats = Tensor::from<float>({2, 3}, std::vector<float>{1, -2, 3, 4, 5, 6});
  const Tensor ids = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{7, -8});
  Tensor halves(DType::kFp16, {4});
  store_floats(std::vector<float>{0.5f, 1, 2, -3}, halves.mutable_view());
  const Tensor scalar = Tensor::scalar(3.5f);
  const Tensor empty(DType::kFp32, {0, 4});
  const std::string path = folder.path() + "/t.safetensors";
  ASSERT_TRUE(write_safetensors(path,
                                {{"b", floats.view()},
                                 {"a", ids.view()},
                                 {"h", halves.view()},
                                 {"s", scalar.view()},
                                 {"e", empty.view()}},
                                {{"format", "pt"}})
                  .ok());
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ((*file)->all().size(), 5u);
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
  EXPECT_EQ(to_floats((*file)->find("b")->view()), (std::vector<float>{1, -2, 3, 4, 5, 6}));
  EXPECT_EQ(to_ints((*file)->find("a")->view()), (std::vector<std::int64_t>{7, -8}));
  EXPECT_EQ(to_floats((*file)->find("h")->view()), (std::vector<float>{0.5f, 1, 2, -3}));
  EXPECT_EQ((*file)->find("s")->shape, Shape{});
  EXPECT_EQ((*file)->find("e")->view().size(), 0);
  EXPECT_EQ((*file)->find("absent"), nullptr);
  std::vector<float> part(2);
  read_floats(*(*file)->find("h"), 2, part);
  EXPECT_EQ(part, (std::vector<float>{2, -3}));
}

// The header may have any length, so elements may begin at an odd address.
TEST(Safetensors, ReadsTensorsThatAreNotAligned) {
  const TemporaryFolder folder;
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 256);
  for (const auto& [dtype, name] : {std::pair{DType::kFp16, "F16"}, {DType::kBf16, "BF16"}}) {
    Tensor tensor(dtype, {1000});
    store_floats(values, tensor.mutable_view());
    std::string data(tensor.view().bytes().size(), '\0');
    std::memcpy(data.data(), tensor.view().bytes().data(), data.size());
    std::string header =
        std::string(R"({"t":{"dtype":")") + name + R"(","shape":[1000],"data_offsets":[0,2000]}})";
    if (header.size() % 2 == 0) header += ' ';
    const std::string path = folder.file("odd.safetensors");
    ASSERT_TRUE(write_file(path, file_bytes(header, data)).ok());
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    std::vector<float> read(values.size());
    read_floats(*(*file)->find("t"), 0, read);
    EXPECT_EQ(read, values) << name;
  }
}

TEST(Safetensors, ReadsShardsThroughTheIndex) {
  TemporaryFolder folder;
  const Tensor a = Tensor::from<float>({1}, std::vector<float>{1});
  const Tensor b = Tensor::from<float>({1}, std::vector<float>{2});
  ASSERT_TRUE(write_safetensors(folder.path() + "/m-1.safetensors", {{"a", a.view()}}).ok());
  ASSERT_TRUE(write_safetensors(folder.path() + "/m-2.safetensors", {{"b", b.view()}}).ok());
  const std::string index = folder.path() + "/model.safetensors.index.json";
  ASSERT_TRUE(
      write_file(index, R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})")
          .ok());
  const auto source = open_safetensors_folder(folder.path());
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(to_floats((*source)->find("b")->view()), std::vector<float>{2});

  for (const char* bad : {R"({"weight_map": {"a": "../m-1.safetensors"}})",
                          R"({"weight_map": {"c": "m-1.safetensors"}})",
                          R"({"weight_map": {"a": "m-3.safetensors"}})",
                          R"({"weight_map": {"a": 3}})", R"({})", "[", ""}) {
    ASSERT_TRUE(write_file(index, bad).ok());
    EXPECT_FALSE(open_safetensors_folder(folder.path()).ok()) << bad;
  }
}

struct Damage {
  const char* name;
  std::string bytes;
};

TEST(Safetensors, RefusesDamagedFilesWithOneLine) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const auto header = [](const std::string& text) {
    return file_bytes(text, std::string(8, '\0'));
  };
  std::string huge = file_bytes(good, std::string(8, '\0'));
  std::memset(huge.data(), 0xff, 8);
  std::string deep = R"({"a":)" + std::string(100000, '[');
  const std::vector<Damage> cases = {
      {"empty", ""},
      {"one byte", "x"},
      {"header longer than the file", file_bytes(good, "").substr(0, 20)},
      {"header length 2^64 - 1", huge},
      {"no JSON", header("{{{")},
      {"a list", header("[]")},
      {"deep nesting", header(deep)},
      {"unknown dtype", header(R"({"a":{"dtype":"F7","shape":[2],"data_offsets":[0,8]}})")},
      {"dtype is a number", header(R"({"a":{"dtype":3,"shape":[2],"data_offsets":[0,8]}})")},
      {"no shape", header(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})")},
      {"negative dimension", header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})")},
      {"dimensions overflow",
       header(
           R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})")},
      {"17 dimensions",
       header(
           R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})")},
      {"shape against size", header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})")},
      {"offsets past the end",
       header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})")},
      {"offsets reversed", header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})")},
      {"offset of 2^64",
       header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})")},
      {"offsets are floats", header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0.5,8]}})")},
      {"one offset", header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})")},
      {"overlap",
       header(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})")},
      {"hole", header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})")},
      {"data not covered", header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})")},
      {"duplicate name",
       header(
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})")},
      {"unknown key", header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})")},
      {"metadata is a list",
       header(R"({"__metadata__":[],"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})")},
      {"metadata of numbers",
       header(R"({"__metadata__":{"k":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})")},
      {"invalid UTF-8",
       header("{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}")},
  };
  TemporaryFolder folder;
  const std::string path = folder.path() + "/bad.safetensors";
  for (const Damage& damage : cases) {
    ASSERT_TRUE(write_file(path, damage.bytes).ok());
    const auto file = SafetensorsFile::open(path);
    ASSERT_FALSE(file.ok()) << damage.name;
    EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
    EXPECT_EQ(file.status().message().find('\n'), std::string::npos) << file.status().message();
  }
  ASSERT_TRUE(write_file(path, header(good)).ok());
  EXPECT_TRUE(SafetensorsFile::open(path).ok());
}

TEST(Safetensors, EveryTruncationOfAGoodFileIsRefused) {
  TemporaryFolder folder;
  const Tensor a = Tensor::from<float>({2}, std::vector<float>{1, 2});
  const std::string path = folder.path() + "/t.safetensors";
  ASSERT_TRUE(write_safetensors(path, {{"a", a.view()}}).ok());
  const auto whole = read_file(path);
  ASSERT_TRUE(whole.ok());
  for (std::size_t size = 0; size < whole->size(); ++size) {
    ASSERT_TRUE(write_file(path, whole->substr(0, size)).ok());
    const auto file = SafetensorsFile::open(path);
    ASSERT_FALSE(file.ok()) << size;
    // Once its header's length is there, it is known what became of it.
    const bool is_said =
        file.status().message().find(": it was cut short: download it again") != std::string::npos;
    EXPECT_EQ(is_said, size >= 8) << file.status().message();
  }
}

TEST(WriteSafetensors, LeavesNoFileBehindWhenItCannotWrite) {
  TemporaryFolder folder;
  const Tensor packed(DType::kInt4, {2});
  const std::string path = folder.path() + "/t.safetensors";
  EXPECT_FALSE(write_safetensors(path, {{"a", packed.view()}}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OpenCheckpoint, SaysWhatIsMissing) {
  TemporaryFolder folder;
  EXPECT_EQ(open_checkpoint(folder.path() + "/absent").status().code(), Code::kIo);
  EXPECT_EQ(open_checkpoint(folder.path()).status().code(), Code::kNotFound);
  ASSERT_TRUE(write_file(folder.path() + "/config.json", R"({"model_type": "llama"})").ok());
  EXPECT_EQ(open_checkpoint(folder.path()).status().code(), Code::kNotFound);
  ASSERT_TRUE(write_file(folder.path() + "/pytorch_model.bin", "x").ok());
  EXPECT_NE(open_checkpoint(folder.path()).status().message().find("torch"), std::string::npos);
  ASSERT_TRUE(write_file(folder.path() + "/config.json", R"({"hidden_size": 3})").ok());
  EXPECT_NE(open_checkpoint(folder.path()).status().message().find("model_type"),
            std::string::npos);
}

}  // namespace
}  // namespace anemone::checkpoint

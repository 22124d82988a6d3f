// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/blob.h"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "tensor/bits.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage {
namespace {

using anemone::testing::TemporaryFolder;

std::vector<std::byte> packed(DType dtype, std::vector<std::int32_t> values) {
  std::vector<std::byte> out(dtype_bytes(dtype, values.size()));
  pack_bits(values, dtype, out);
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", static_cast<int>(byte));
  return out;
}

template <typename T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The file that the reference notes describe: fp32[12], int4[7], uint3[9], uint6[4].
class GoldenBlobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    BlobPlan plan;
    EXPECT_EQ(plan.add(DType::kFp32, 12), 64u);
    EXPECT_EQ(plan.add(DType::kInt4, 7), 192u);
    EXPECT_EQ(plan.add(DType::kUInt3, 9), 320u);
    EXPECT_EQ(plan.add(DType::kUInt6, 4), 448u);
    EXPECT_EQ(plan.file_bytes(), 515u);
    path_ = folder_.file("weight.bin");
    auto writer = BlobWriter::create(path_, plan);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    const std::vector<std::byte> data[] = {
        std::vector<std::byte>(48, std::byte{0x3f}), packed(DType::kInt4, {-8, -1, 0, 1, 2, 7, 3}),
        packed(DType::kUInt3, {1, 2, 3, 4, 5, 6, 7, 0, 1}), packed(DType::kUInt6, {1, 2, 3, 63})};
    // Any order: the places are planned.
    for (const std::size_t i : {3u, 0u, 2u, 1u})
      ASSERT_TRUE(writer->write(plan.entries()[i], data[i]).ok());
    ASSERT_TRUE(writer->commit().ok());
    auto file = MappedFile::open(path_);
    ASSERT_TRUE(file.ok());
    file_ = *file;
  }

  TemporaryFolder folder_;
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
};

TEST_F(GoldenBlobTest, header_and_records_have_the_documented_bytes) {
  const auto bytes = file_->bytes();
  ASSERT_EQ(bytes.size(), 515u);
  EXPECT_EQ(at<std::uint32_t>(bytes, 0), 4u);
  EXPECT_EQ(at<std::uint32_t>(bytes, 4), 2u);
  EXPECT_EQ(at<std::uint32_t>(bytes, 192), 0xDEADBEEFu);
  EXPECT_EQ(at<std::uint32_t>(bytes, 196), 8u);
  EXPECT_EQ(at<std::uint64_t>(bytes, 200), 4u);
  EXPECT_EQ(at<std::uint64_t>(bytes, 208), 256u);
  EXPECT_EQ(at<std::uint64_t>(bytes, 216), 4u);
  EXPECT_EQ(at<std::uint64_t>(bytes, 320 + 24), 5u);
  EXPECT_EQ(at<std::uint64_t>(bytes, 448 + 24), 0u);
  EXPECT_EQ(hex(bytes.subspan(256, 4)), "f8107203");
  EXPECT_EQ(hex(bytes.subspan(384, 4)), "d1581f01");
  EXPECT_EQ(hex(bytes.subspan(512, 3)), "8130fc");
}

TEST_F(GoldenBlobTest, gaps_are_zero) {
  const auto bytes = file_->bytes();
  for (std::size_t i = 8; i < 64; ++i) EXPECT_EQ(bytes[i], std::byte{0}) << i;
  for (std::size_t i = 260; i < 320; ++i) EXPECT_EQ(bytes[i], std::byte{0}) << i;
}

TEST_F(GoldenBlobTest, the_reader_recovers_types_and_element_counts) {
  auto reader = BlobReader::open(file_->bytes(), file_, path_);
  ASSERT_TRUE(reader.ok());
  auto blobs = reader->list();
  ASSERT_TRUE(blobs.ok()) << blobs.status().message();
  ASSERT_EQ(blobs->size(), 4u);
  EXPECT_EQ((*blobs)[0].dtype, DType::kFp32);
  EXPECT_EQ((*blobs)[0].elements, 12u);
  EXPECT_EQ((*blobs)[1].dtype, DType::kInt4);
  EXPECT_EQ((*blobs)[1].elements, 7u);
  EXPECT_EQ((*blobs)[2].elements, 9u);
  EXPECT_EQ((*blobs)[3].record_offset, 448u);
}

TEST_F(GoldenBlobTest, data_stay_mapped_after_the_reader_is_gone) {
  std::shared_ptr<const ir::Data> data;
  {
    auto reader = BlobReader::open(file_->bytes(), file_, path_);
    ASSERT_TRUE(reader.ok());
    auto found = reader->tensor(320, DType::kUInt3, 9);
    ASSERT_TRUE(found.ok()) << found.status().message();
    data = *found;
  }
  file_.reset();
  const auto loaded = data->load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(hex(loaded->bytes), "d1581f01");
}

TEST_F(GoldenBlobTest, the_offset_of_data_is_not_the_offset_of_a_blob) {
  auto reader = BlobReader::open(file_->bytes(), file_, path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->find(128).status().code(), Code::kCorrupt);
  EXPECT_EQ(reader->find(0).status().code(), Code::kCorrupt);
  EXPECT_EQ(reader->find(65).status().code(), Code::kCorrupt);
  EXPECT_EQ(reader->find(1 << 20).status().code(), Code::kCorrupt);
  EXPECT_EQ(reader->find(UINT64_MAX - 63).status().code(), Code::kCorrupt);
}

TEST_F(GoldenBlobTest, a_tensor_of_another_type_or_size_is_refused) {
  auto reader = BlobReader::open(file_->bytes(), file_, path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->tensor(192, DType::kUInt4, 7).status().code(), Code::kCorrupt);
  EXPECT_EQ(reader->tensor(192, DType::kInt4, 8).status().code(), Code::kCorrupt);
  EXPECT_TRUE(reader->tensor(192, DType::kInt4, 7).ok());
}

TEST(BlobWriterTest, nothing_is_left_without_commit) {
  TemporaryFolder folder;
  {
    BlobPlan plan;
    plan.add(DType::kFp16, 16);
    auto writer = BlobWriter::create(folder.file("weight.bin"), plan);
    ASSERT_TRUE(writer.ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(BlobWriterTest, data_of_another_size_than_planned_are_refused) {
  TemporaryFolder folder;
  BlobPlan plan;
  plan.add(DType::kFp16, 16);
  auto writer = BlobWriter::create(folder.file("weight.bin"), plan);
  ASSERT_TRUE(writer.ok());
  const std::vector<std::byte> data(31);
  EXPECT_EQ(writer->write(plan.entries()[0], data).code(), Code::kInternal);
}

TEST(BlobReaderTest, version_one_is_told_from_version_two) {
  std::vector<std::byte> bytes(64);
  bytes[4] = std::byte{1};
  EXPECT_EQ(BlobReader::open(bytes, nullptr, "w").status().code(), Code::kVersionMismatch);
  EXPECT_EQ(BlobReader::open(std::span(bytes).first(63), nullptr, "w").status().code(),
            Code::kCorrupt);
}

}  // namespace
}  // namespace anemone::mlpackage

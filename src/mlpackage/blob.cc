// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/blob.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/error.h"
#include "mlpackage/dtype_codes.h"

namespace anemone::mlpackage {
namespace {

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

std::uint64_t padding_bits(DType dtype, std::uint64_t elements) {
  if (!is_sub_byte(dtype)) return 0;
  return dtype_bytes(dtype, elements) * 8 -
         elements * static_cast<std::uint64_t>(dtype_bits(dtype));
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

BlobReader::BlobReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       std::string subject, std::uint32_t count)
    : bytes_(bytes), owner_(std::move(owner)), subject_(std::move(subject)), count_(count) {}

Result<BlobReader> BlobReader::open(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string subject) {
  ByteReader reader(bytes, subject);
  ANEMONE_ASSIGN_OR_RETURN(const auto header, reader.read<BlobFileHeader>());
  if (header.version != kBlobVersion)
    return version_mismatch("[{}] expected weight blob version {}, got {}", subject, kBlobVersion,
                            header.version);
  return BlobReader(bytes, std::move(owner), std::move(subject), header.count);
}

Result<BlobView> BlobReader::find(std::uint64_t record_offset) const {
  if (record_offset % kBlobAlignment != 0 || record_offset < sizeof(BlobFileHeader))
    return corrupt("[{}] expected the offset of a blob record (a multiple of {}, not 0), got {}",
                   subject_, kBlobAlignment, record_offset);
  ByteReader reader(bytes_, subject_);
  ANEMONE_RETURN_IF_ERROR(reader.seek(record_offset));
  ANEMONE_ASSIGN_OR_RETURN(const auto record, reader.read<BlobRecord>());
  if (record.sentinel != kBlobSentinel)
    return corrupt("[{}] expected a blob record with sentinel {:#x} at offset {}, got {:#x}",
                   subject_, kBlobSentinel, record_offset, record.sentinel);
  const auto dtype = dtype_of_blob_code(record.dtype);
  if (!dtype)
    return unsupported("[{}] expected a known dtype code, got {} (record at {})", subject_,
                       record.dtype, record_offset);
  if (record.data_offset % kBlobAlignment != 0 ||
      record.data_offset < record_offset + sizeof(BlobRecord))
    return corrupt(
        "[{}] expected data after their record on a multiple of {}, got offset {} "
        "(record at {})",
        subject_, kBlobAlignment, record.data_offset, record_offset);
  if (record.data_offset > bytes_.size() || record.size_bytes > bytes_.size() - record.data_offset)
    return corrupt(
        "[{}] expected {} bytes of data at offset {}, the file has {} bytes "
        "(record at {})",
        subject_, record.size_bytes, record.data_offset, bytes_.size(), record_offset);

  BlobView view;
  view.record_offset = record_offset;
  view.dtype = *dtype;
  view.bytes = bytes_.subspan(record.data_offset, record.size_bytes);
  const auto bits = static_cast<std::uint64_t>(dtype_bits(*dtype));
  // The range check above bounds size_bytes by the file, so that * 8 cannot overflow.
  const std::uint64_t total_bits = record.size_bytes * 8;
  const std::uint64_t padding = is_sub_byte(*dtype) ? record.padding_bits : 0;
  if (padding >= 8 || padding > total_bits || (total_bits - padding) % bits != 0)
    return corrupt(
        "[{}] expected {} bytes to hold whole {} elements with less than 8 padding bits, "
        "got {} padding bits (record at {})",
        subject_, record.size_bytes, dtype_name(*dtype), padding, record_offset);
  view.elements = (total_bits - padding) / bits;
  return view;
}

Result<std::shared_ptr<const ir::Data>> BlobReader::tensor(std::uint64_t record_offset, DType dtype,
                                                           std::uint64_t elements) const {
  ANEMONE_ASSIGN_OR_RETURN(const BlobView view, find(record_offset));
  if (view.dtype != dtype)
    return corrupt("[{}] expected {} data, got {} (record at {})", subject_, dtype_name(dtype),
                   dtype_name(view.dtype), record_offset);
  if (view.elements != elements)
    return corrupt("[{}] expected {} {} elements, got {} (record at {})", subject_, elements,
                   dtype_name(dtype), view.elements, record_offset);
  return ir::mapped_data(view.bytes, owner_);
}

Result<std::vector<BlobView>> BlobReader::list() const {
  std::vector<BlobView> blobs;
  std::uint64_t offset = sizeof(BlobFileHeader);
  for (std::uint32_t i = 0; i < count_; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(BlobView blob, find(offset));
    const auto end =
        static_cast<std::uint64_t>(blob.bytes.data() - bytes_.data()) + blob.bytes.size();
    offset = aligned(end);
    blobs.push_back(blob);
  }
  return blobs;
}

std::uint64_t BlobPlan::add(DType dtype, std::uint64_t elements) {
  const auto code = blob_code(dtype);
  ANEMONE_CHECK(code.has_value());
  Entry entry;
  entry.record_offset = aligned(file_bytes_);
  entry.record.dtype = *code;
  entry.record.size_bytes = dtype_bytes(dtype, elements);
  entry.record.data_offset = entry.record_offset + sizeof(BlobRecord);
  entry.record.padding_bits = padding_bits(dtype, elements);
  file_bytes_ = entry.record.data_offset + entry.record.size_bytes;
  data_bytes_ += entry.record.size_bytes;
  entries_.push_back(entry);
  return entry.record_offset;
}

std::vector<std::byte> make_blob_file(const TensorView& tensor) {
  BlobPlan plan;
  plan.add(tensor.dtype, static_cast<std::uint64_t>(tensor.size()));
  const BlobPlan::Entry& entry = plan.entries().front();
  std::vector<std::byte> out(plan.file_bytes());
  const auto put = [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  put(0, bytes_of(BlobFileHeader{.count = 1}));
  put(entry.record_offset, bytes_of(entry.record));
  put(entry.record.data_offset, tensor.bytes());
  return out;
}

Result<BlobWriter> BlobWriter::create(const std::string& path, const BlobPlan& plan) {
  if (plan.entries().size() > UINT32_MAX)
    return unsupported("[{}] expected at most {} blobs, got {}", path, UINT32_MAX,
                       plan.entries().size());
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  BlobFileHeader header;
  header.count = static_cast<std::uint32_t>(plan.entries().size());
  ANEMONE_RETURN_IF_ERROR(file.write_at(0, bytes_of(header)));
  for (const BlobPlan::Entry& entry : plan.entries())
    ANEMONE_RETURN_IF_ERROR(file.write_at(entry.record_offset, bytes_of(entry.record)));
  return BlobWriter(std::move(file));
}

Status BlobWriter::write(const BlobPlan::Entry& entry, std::span<const std::byte> data) {
  if (data.size() != entry.record.size_bytes)
    return internal_error("expected {} bytes for the blob at {}, got {}", entry.record.size_bytes,
                          entry.record_offset, data.size());
  return file_.write_at(entry.record.data_offset, data);
}

}  // namespace anemone::mlpackage

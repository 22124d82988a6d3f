// SPDX-License-Identifier: Apache-2.0
// The weight file of a package (blob format, version 2). Little-endian; everything starts at a
// multiple of 64 bytes and gaps are zero; nothing follows the last byte of the last blob.
//
//   file header, 64 bytes
//     0  u32  number of blobs
//     4  u32  version = 2
//     8  u64  reserved[7] = 0
//   record, 64 bytes, one for each blob; a program refers to a blob by the file offset of its
//   record
//     0  u32  sentinel 0xDEADBEEF
//     4  u32  dtype code (dtype_codes.h)
//     8  u64  size of the data in bytes
//    16  u64  file offset of the data: the next multiple of 64 after the record
//    24  u64  padding in bits
//    32  u64  reserved[4] = 0
//
// Elements narrower than a byte are one flat bit stream, first element in the low bits
// (tensor/bits.h); padding counts the unused high bits of the last byte, so that the number of
// elements can be told. For wider types the padding field means nothing (older writers left garbage
// there).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "ir/literal.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace anemone::mlpackage {

inline constexpr std::uint64_t kBlobAlignment = 64;
inline constexpr std::uint32_t kBlobVersion = 2;
inline constexpr std::uint32_t kBlobSentinel = 0xDEADBEEF;

struct BlobFileHeader {
  std::uint32_t count = 0;
  std::uint32_t version = kBlobVersion;
  std::uint64_t reserved[7] = {};
};
static_assert(sizeof(BlobFileHeader) == 64);

struct BlobRecord {
  std::uint32_t sentinel = kBlobSentinel;
  std::uint32_t dtype = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t padding_bits = 0;
  std::uint64_t reserved[4] = {};
};
static_assert(sizeof(BlobRecord) == 64);

// One blob as found in a file: a view into its bytes.
struct BlobView {
  std::uint64_t record_offset = 0;
  DType dtype = DType::kFp32;
  std::uint64_t elements = 0;
  std::span<const std::byte> bytes;
};

// Finds blobs in the bytes of a weight file. `owner` keeps the bytes alive; views live as long as
// it. Thread-safe. `subject` starts each error: a record that contradicts itself is kCorrupt, an
// element type that we do not have kUnsupported.
class BlobReader {
 public:
  // Checks the file header: kVersionMismatch for another version.
  static Result<BlobReader> open(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner, std::string subject);

  // The blob whose record is at `record_offset`: alignment, sentinel, dtype, range and padding
  // checked.
  Result<BlobView> find(std::uint64_t record_offset) const;
  // The blob as data of a tensor that must have this dtype and number of elements. It copies
  // nothing.
  Result<std::shared_ptr<const ir::Data>> tensor(std::uint64_t record_offset, DType dtype,
                                                 std::uint64_t elements) const;
  // All blobs in file order, by the rule of the layout; checks the count of the header.
  Result<std::vector<BlobView>> list() const;

 private:
  BlobReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
             std::string subject, std::uint32_t count);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::string subject_;
  std::uint32_t count_ = 0;
};

// Where each blob of a new file will lie, known before any data is.
class BlobPlan {
 public:
  struct Entry {
    std::uint64_t record_offset = 0;
    BlobRecord record;
  };

  // Places a blob after the others and returns the offset of its record. `dtype` must have a blob
  // code.
  std::uint64_t add(DType dtype, std::uint64_t elements);

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  std::vector<Entry> entries_;
  std::uint64_t file_bytes_ = sizeof(BlobFileHeader);
  std::uint64_t data_bytes_ = 0;
};

// A whole weight file with one blob, whose record is at kFirstRecord: the elements of a tensor
// whose type has a blob code.
inline constexpr std::uint64_t kFirstRecord = sizeof(BlobFileHeader);
std::vector<std::byte> make_blob_file(const TensorView& tensor);

// Writes a planned weight file. All or nothing: without commit() no file is left.
class BlobWriter {
 public:
  // Writes the header and all records.
  static Result<BlobWriter> create(const std::string& path, const BlobPlan& plan);

  // The data of one blob of the plan. Any thread, any order, each entry once.
  Status write(const BlobPlan::Entry& entry, std::span<const std::byte> data);
  // Single-thread, after all writes. Spends the writer.
  Status commit() { return file_.commit(); }

 private:
  explicit BlobWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
};

}  // namespace anemone::mlpackage

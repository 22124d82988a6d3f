// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/blob_cache.h"

#include "base/error.h"
#include "base/file_copy.h"

namespace anemone::mlpackage {

Result<std::shared_ptr<const ir::Data>> BlobCache::find(const std::string& reference,
                                                        std::uint64_t offset, DType dtype,
                                                        std::uint64_t elements) {
  ANEMONE_ASSIGN_OR_RETURN(const BlobReader* blobs, reader(reference));
  // Checked for each use, not only the first: another use may claim another type or size.
  ANEMONE_ASSIGN_OR_RETURN(auto data, blobs->tensor(offset, dtype, elements));
  const auto [it, is_new] = data_.emplace(std::pair(blobs, offset), std::move(data));
  if (is_new) offsets_.emplace(it->second.get(), offset);
  return it->second;
}

Result<const BlobReader*> BlobCache::reader(const std::string& reference) {
  if (const auto it = readers_.find(reference); it != readers_.end()) return it->second.get();
  if (files_ == nullptr)
    return corrupt("expected a constant in the model itself, got a reference to \"{}\"", reference);
  ANEMONE_ASSIGN_OR_RETURN(const std::string path, files_->weight_path(reference));
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  if (maps_weights_) {
    ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
    bytes = file->bytes();
    owner = file;
    mapped_.push_back(file);
  } else {
    ANEMONE_ASSIGN_OR_RETURN(const auto copy, FileCopy::read(path));
    bytes = copy->bytes();
    owner = copy;
  }
  ANEMONE_ASSIGN_OR_RETURN(BlobReader blobs, BlobReader::open(bytes, owner, path));
  const auto it = readers_.emplace(reference, std::make_unique<const BlobReader>(std::move(blobs)));
  return it.first->second.get();
}

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/blob_cache.h"

#include "base/error.h"

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
  ANEMONE_ASSIGN_OR_RETURN(auto file,
                           maps_weights_ ? MappedFile::open(path) : MappedFile::read(path));
  ANEMONE_ASSIGN_OR_RETURN(BlobReader blobs, BlobReader::open(file->bytes(), file, path));
  mapped_.push_back(std::move(file));
  const auto it = readers_.emplace(reference, std::make_unique<const BlobReader>(std::move(blobs)));
  return it.first->second.get();
}

}  // namespace anemone::mlpackage

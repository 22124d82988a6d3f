// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "ir/literal.h"
#include "mlpackage/blob.h"
#include "mlpackage/package_files.h"

namespace anemone::mlpackage {

// The weight files of a package that is being read: opens each file once, and gives values that
// refer to the same blob the same Data, so that what was shared stays shared. Single-thread.
class BlobCache {
 public:
  // `files` must outlive the cache; nullptr (a model in memory) refuses every reference.
  explicit BlobCache(const PackageFiles* files, bool maps_weights = true)
      : files_(files), maps_weights_(maps_weights) {}

  // The blob behind "@model_path/weights/weight.bin" and an offset, checked against dtype and size.
  Result<std::shared_ptr<const ir::Data>> find(const std::string& reference, std::uint64_t offset,
                                               DType dtype, std::uint64_t elements);

  // Those that are mapped: others may cut them short while they are in use.
  std::vector<std::shared_ptr<const MappedFile>> take_files() { return std::move(mapped_); }
  std::unordered_map<const ir::Data*, std::uint64_t> take_offsets() { return std::move(offsets_); }

 private:
  Result<const BlobReader*> reader(const std::string& reference);

  const PackageFiles* files_;
  const bool maps_weights_;
  std::map<std::string, std::unique_ptr<const BlobReader>, std::less<>> readers_;  // by reference
  std::map<std::pair<const BlobReader*, std::uint64_t>, std::shared_ptr<const ir::Data>> data_;
  std::vector<std::shared_ptr<const MappedFile>> mapped_;
  std::unordered_map<const ir::Data*, std::uint64_t> offsets_;
};

}  // namespace anemone::mlpackage

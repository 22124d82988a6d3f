// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace anemone::checkpoint {

// One tensor of a checkpoint: where its bytes lie, row-major. A view; the WeightSource keeps the
// mapping.
struct WeightRef {
  std::string name;
  DType dtype = DType::kFp32;
  Shape shape;
  std::span<const std::byte> bytes;
  const MappedFile* file = nullptr;

  TensorView view() const { return {dtype, shape, bytes.data()}; }
  // Tells the kernel that these bytes were used for the last time (MappedFile::release).
  void release() const {
    if (file != nullptr) file->release(bytes);
  }
};

// The tensors of a checkpoint by name, lazily: opening reads headers only. Immutable, thread-safe.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // nullptr when there is no tensor of this name. The pointer lives as long as the source.
  virtual const WeightRef* find(std::string_view name) const = 0;
  // In order of name.
  virtual std::vector<const WeightRef*> all() const = 0;
  // The folder or file as the user gave it, for error messages.
  virtual const std::string& origin() const = 0;
};

// Elements [begin, begin + out.size()) of a tensor, converted to float.
void read_floats(const WeightRef& weight, std::int64_t begin, std::span<float> out);

}  // namespace anemone::checkpoint

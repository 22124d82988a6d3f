// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/quantized_form.h"
#include "tensor/tensor.h"

namespace anemone::checkpoint {

struct WeightRef;

// Reads tensors whose bytes are no row-major elements: quantized blocks, rows in another order.
// Immutable, thread-safe.
class WeightDecoder {
 public:
  virtual ~WeightDecoder() = default;
  // How the bytes are stored, for people: "Q4_K".
  virtual std::string_view storage() const = 0;
  // Decodes elements from `begin` on into `out`, like read_floats() below.
  virtual void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const = 0;
  // How many rows of a matrix are best read together, since reading them takes little longer than
  // reading one: more than 1 for a matrix that lies transposed.
  virtual std::int64_t rows_at_once() const { return 1; }
  // Bits of its integers, whatever their form, without the scales; 0: they are not quantized.
  virtual int quantized_bits() const { return 0; }
  // The integers behind a matrix, when rows are nothing but integers with scales.
  virtual std::optional<QuantizedForm> quantized_form() const { return std::nullopt; }
  // One row of those: `quants` has a matrix's columns, `scales` columns / group.
  virtual void read_quants(const WeightRef& weight, std::int64_t row, std::span<std::int8_t> quants,
                           std::span<float> scales) const;
  // Their minimums, as many as scales; only where the form has some.
  virtual void read_minimums(const WeightRef& weight, std::int64_t row,
                             std::span<float> minimums) const;
};

// One tensor of a checkpoint: where its bytes lie. A view; the WeightSource keeps the mapping.
struct WeightRef {
  std::string name;  // by which its source finds it
  // Type of the elements that are read; without a decoder it is also that of the bytes.
  DType dtype = DType::kFp32;
  Shape shape;
  std::span<const std::byte> bytes;  // row-major elements, or whatever the decoder reads
  const MappedFile* file = nullptr;
  const WeightDecoder* decoder = nullptr;

  // The tensor itself. Requires that there is no decoder.
  TensorView view() const { return {dtype, shape, bytes.data()}; }
  // Name of the stored form: "fp16", "Q4_K".
  std::string_view storage() const {
    return decoder != nullptr ? decoder->storage() : dtype_name(dtype);
  }
  int quantized_bits() const { return decoder == nullptr ? 0 : decoder->quantized_bits(); }
  bool is_quantized() const { return quantized_bits() != 0; }
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
  // find() for a caller that will check the result against `shape`; planned_weights.h needs to know
  // it.
  virtual const WeightRef* expect(std::string_view name, const Shape& /*shape*/) const {
    return find(name);
  }
  // All tensors, sorted by name.
  virtual std::vector<const WeightRef*> all() const = 0;
  // The folder or file as the user gave it, for error messages.
  virtual const std::string& origin() const = 0;
};

// A source that knows its tensors from the beginning: what every format's own class fills.
class WeightMap : public WeightSource {
 public:
  const WeightRef* find(std::string_view name) const override;
  std::vector<const WeightRef*> all() const override;
  const std::string& origin() const override { return origin_; }

 protected:
  explicit WeightMap(std::string origin) : origin_(std::move(origin)) {}
  // False when there is one of this name.
  bool add(std::string name, WeightRef weight);

 private:
  std::string origin_;
  std::map<std::string, WeightRef, std::less<>> tensors_;
};

// Elements [begin, begin + out.size()) of a tensor, converted to float.
void read_floats(const WeightRef& weight, std::int64_t begin, std::span<float> out);

}  // namespace anemone::checkpoint

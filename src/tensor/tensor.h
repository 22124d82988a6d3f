// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/shape.h"

namespace anemone {

// C++ type <-> DType, for typed access. bool elements are stored as one byte, 0 or 1.
template <typename T>
inline constexpr DType kDTypeOf = DType::kString;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<Half> = DType::kFp16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBf16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFp32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFp64;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::kUInt16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::kUInt32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::kUInt64;

// A dense row-major tensor that someone else owns; static shape; never strings. `data` may be
// unaligned only for sub-byte types. Copying a view copies the shape, not the elements.
// Thread-compatible.
struct TensorView {
  DType dtype = DType::kFp32;
  Shape shape;
  const std::byte* data = nullptr;

  std::int64_t size() const { return element_count(shape); }
  std::uint64_t size_bytes() const {
    return dtype_bytes(dtype, static_cast<std::uint64_t>(size()));
  }
  std::span<const std::byte> bytes() const {
    return {data, static_cast<std::size_t>(size_bytes())};
  }
  // Elements as T; the dtype must be T's.
  template <typename T>
  std::span<const T> as() const {
    ANEMONE_CHECK(dtype == kDTypeOf<T>);
    return {reinterpret_cast<const T*>(data), static_cast<std::size_t>(size())};
  }
};

struct NamedView {
  std::string_view name;
  TensorView tensor;
};

// A TensorView that is writable: the output of a kernel.
struct MutableTensorView {
  DType dtype = DType::kFp32;
  Shape shape;
  std::byte* data = nullptr;

  operator TensorView() const { return {dtype, shape, data}; }
  std::int64_t size() const { return element_count(shape); }
  std::uint64_t size_bytes() const {
    return dtype_bytes(dtype, static_cast<std::uint64_t>(size()));
  }
  std::span<std::byte> bytes() const { return {data, static_cast<std::size_t>(size_bytes())}; }
  template <typename T>
  std::span<T> as() const {
    ANEMONE_CHECK(dtype == kDTypeOf<T>);
    return {reinterpret_cast<T*>(data), static_cast<std::size_t>(size())};
  }
};

// An owning tensor: 64-byte aligned, zero-filled storage; of a large one the system gives memory
// only where something is written. Moves are cheap; copies go through
// clone().
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape);

  template <typename T>
  static Tensor from(Shape shape, std::span<const T> values) {
    Tensor tensor(kDTypeOf<T>, std::move(shape));
    ANEMONE_CHECK(tensor.view().size() == static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), tensor.mutable_view().template as<T>().begin());
    return tensor;
  }
  template <typename T>
  static Tensor scalar(T value) {
    return from<T>({}, std::span<const T>(&value, 1));
  }
  static Tensor copy_of(const TensorView& view);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorView view() const { return {dtype_, shape_, storage_.get()}; }
  MutableTensorView mutable_view() { return {dtype_, shape_, storage_.get()}; }
  // The elements alone, without a copy of the shape.
  const std::byte* data() const { return storage_.get(); }
  std::byte* mutable_data() { return storage_.get(); }
  Tensor clone() const { return copy_of(view()); }
  bool empty() const { return storage_ == nullptr; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  DType dtype_ = DType::kFp32;
  Shape shape_;
  std::unique_ptr<std::byte[], Free> storage_;
};

// Element `i` (row-major) of any non-string tensor as a double or int64; sub-byte types are
// unpacked. They are meant for parameters, small constants and tests, not for inner loops.
double element_as_double(const TensorView& view, std::int64_t i);
std::int64_t element_as_int(const TensorView& view, std::int64_t i);

// All elements converted to float (`to_floats`) or int64 (`to_ints`, floats truncate toward zero
// and saturate, NaN is 0).
std::vector<float> to_floats(const TensorView& view);
std::vector<std::int64_t> to_ints(const TensorView& view);

// Writes `values` into `out` converted to its dtype: fp16/bf16 round to nearest even, integers
// truncate toward zero and saturate, bool is x != 0. Sizes must match.
void store_floats(std::span<const float> values, const MutableTensorView& out);

}  // namespace anemone

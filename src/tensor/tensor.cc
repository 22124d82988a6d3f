// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "base/zero_memory.h"
#include "tensor/bits.h"

namespace anemone {
namespace {

constexpr std::size_t kAlignment = 64;

template <typename T>
T load(const TensorView& view, std::int64_t i) {
  T value;
  std::memcpy(&value, view.data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

// Calls f(element) with the element in its natural C++ type.
template <typename F>
auto visit_element(const TensorView& view, std::int64_t i, F&& f) {
  switch (view.dtype) {
    case DType::kFp16:
      return f(to_float(load<Half>(view, i)));
    case DType::kBf16:
      return f(to_float(load<BFloat16>(view, i)));
    case DType::kFp32:
      return f(load<float>(view, i));
    case DType::kFp64:
      return f(load<double>(view, i));
    case DType::kBool:
    case DType::kUInt8:
      return f(load<std::uint8_t>(view, i));
    case DType::kInt8:
      return f(load<std::int8_t>(view, i));
    case DType::kInt16:
      return f(load<std::int16_t>(view, i));
    case DType::kInt32:
      return f(load<std::int32_t>(view, i));
    case DType::kInt64:
      return f(load<std::int64_t>(view, i));
    case DType::kUInt16:
      return f(load<std::uint16_t>(view, i));
    case DType::kUInt32:
      return f(load<std::uint32_t>(view, i));
    case DType::kUInt64:
      return f(load<std::uint64_t>(view, i));
    case DType::kInt4:
    case DType::kUInt1:
    case DType::kUInt2:
    case DType::kUInt3:
    case DType::kUInt4:
    case DType::kUInt6:
      return f(unpack_bits(view.bytes(), view.dtype, static_cast<std::uint64_t>(i)));
    case DType::kString:
      break;
  }
  ANEMONE_CHECK(false && "an element of a string tensor has no number");
  return f(0.0f);
}

template <typename T, typename Float>
T saturate(Float value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<Float>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (value >= static_cast<Float>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <typename T>
void store_integers(std::span<const float> values, const MutableTensorView& out) {
  auto target = out.as<T>();
  for (std::size_t i = 0; i < values.size(); ++i) target[i] = saturate<T>(values[i]);
}

}  // namespace

void Tensor::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  const auto count = static_cast<std::uint64_t>(element_count(shape_));
  const std::uint64_t bytes = dtype_bytes(dtype_, count);
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const auto padded = static_cast<std::size_t>((bytes + kAlignment) / kAlignment * kAlignment);
  // Not calloc: of a block that was in use before it writes every byte.
  storage_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded)));
  if (storage_ == nullptr) throw std::bad_alloc();
  zero_memory(storage_.get(), padded);
}

Tensor Tensor::copy_of(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (view.size() > 0) std::memcpy(tensor.storage_.get(), view.data, view.size_bytes());
  return tensor;
}

double element_as_double(const TensorView& view, std::int64_t i) {
  return visit_element(view, i, [](auto value) { return static_cast<double>(value); });
}

std::int64_t element_as_int(const TensorView& view, std::int64_t i) {
  return visit_element(view, i, [](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      return saturate<std::int64_t>(value);
    } else {
      return static_cast<std::int64_t>(value);
    }
  });
}

std::vector<float> to_floats(const TensorView& view) {
  std::vector<float> out(static_cast<std::size_t>(view.size()));
  if (view.dtype == DType::kFp32) {
    if (!out.empty()) std::memcpy(out.data(), view.data, out.size() * sizeof(float));
  } else if (view.dtype == DType::kFp16) {
    to_floats(view.as<Half>(), out);
  } else if (view.dtype == DType::kBf16) {
    to_floats(view.as<BFloat16>(), out);
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(element_as_double(view, static_cast<std::int64_t>(i)));
  }
  return out;
}

std::vector<std::int64_t> to_ints(const TensorView& view) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(view.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = element_as_int(view, static_cast<std::int64_t>(i));
  return out;
}

void store_floats(std::span<const float> values, const MutableTensorView& out) {
  ANEMONE_CHECK(static_cast<std::int64_t>(values.size()) == out.size());
  switch (out.dtype) {
    case DType::kFp32:
      std::copy(values.begin(), values.end(), out.as<float>().begin());
      return;
    case DType::kFp16:
      to_halves(values, out.as<Half>());
      return;
    case DType::kFp64:
      std::copy(values.begin(), values.end(), out.as<double>().begin());
      return;
    case DType::kBf16: {
      auto target = out.as<BFloat16>();
      for (std::size_t i = 0; i < values.size(); ++i) target[i] = to_bfloat16(values[i]);
      return;
    }
    case DType::kBool: {
      auto target = out.as<bool>();
      for (std::size_t i = 0; i < values.size(); ++i) target[i] = values[i] != 0.0f;
      return;
    }
    case DType::kInt8:
      return store_integers<std::int8_t>(values, out);
    case DType::kInt16:
      return store_integers<std::int16_t>(values, out);
    case DType::kInt32:
      return store_integers<std::int32_t>(values, out);
    case DType::kInt64:
      return store_integers<std::int64_t>(values, out);
    case DType::kUInt8:
      return store_integers<std::uint8_t>(values, out);
    case DType::kUInt16:
      return store_integers<std::uint16_t>(values, out);
    case DType::kUInt32:
      return store_integers<std::uint32_t>(values, out);
    case DType::kUInt64:
      return store_integers<std::uint64_t>(values, out);
    default:
      ANEMONE_CHECK(false && "store_floats into a sub-byte or string tensor");
  }
}

}  // namespace anemone

// SPDX-License-Identifier: Apache-2.0
#include "values/convert.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace anemone::values {
namespace {

// A float on the way to a narrower type: of the two floats around a value that is none, the one
// whose last bit is set. Rounding it again gives what rounding once would.
float to_odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  if ((std::bit_cast<std::uint32_t>(nearest) & 1u) != 0) return nearest;
  const float infinity = std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, value > static_cast<double>(nearest) ? infinity : -infinity);
}

// A float type and the double that its value is.
template <typename T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_half(to_odd_float(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(to_odd_float(value));
  else
    return static_cast<T>(value);
}
template <typename T>
double widened(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(to_float(value));
}

template <typename T>
bool store(std::int64_t value, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out = value != 0;
    return value == 0 || value == 1;
  } else if constexpr (std::integral<T>) {
    out = static_cast<T>(value);
    return std::in_range<T>(value);
  } else {
    out = rounded<T>(static_cast<double>(value));
    const double stored = widened(out);
    // 2^63 is a float, but no int64.
    return std::abs(stored) < 0x1p63 && static_cast<std::int64_t>(stored) == value;
  }
}

template <typename T>
bool store(double value, T& out) {
  if constexpr (std::integral<T>) {
    if (!(std::abs(value) < 0x1p63) || std::trunc(value) != value) return false;
    return store(static_cast<std::int64_t>(value), out);
  } else {
    out = rounded<T>(value);
    return std::isfinite(widened(out)) || !std::isfinite(value);
  }
}

template <typename T>
Result<Tensor> convert_to(const TensorView& values, std::string_view subject) {
  Tensor out(kDTypeOf<T>, values.shape);
  const std::span<T> stored = out.mutable_view().template as<T>();
  const bool is_whole = !is_float(values.dtype);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    bool fits = false;
    std::string text;
    if (is_whole) {
      const std::int64_t value = element_as_int(values, at);
      // A uint64 beyond int64 has come back negative.
      const bool is_beyond = values.dtype == DType::kUInt64 && value < 0;
      fits = !is_beyond && store(value, stored[i]);
      if (!fits) text = is_beyond ? "more than int64 holds" : std::to_string(value);
    } else {
      const double value = element_as_double(values, at);
      fits = store(value, stored[i]);
      if (!fits) text = fmt::format("{}", value);
    }
    if (!fits)
      return invalid_argument("[{}] expected values that {} holds, got {} (element {})", subject,
                              dtype_name(kDTypeOf<T>), text, i);
  }
  return out;
}

}  // namespace

Result<Tensor> convert(const TensorView& values, DType dtype, std::string_view subject) {
  if (values.dtype == dtype) return Tensor::copy_of(values);
  switch (dtype) {
    case DType::kBool:
      return convert_to<bool>(values, subject);
    case DType::kFp16:
      return convert_to<Half>(values, subject);
    case DType::kBf16:
      return convert_to<BFloat16>(values, subject);
    case DType::kFp32:
      return convert_to<float>(values, subject);
    case DType::kFp64:
      return convert_to<double>(values, subject);
    case DType::kInt8:
      return convert_to<std::int8_t>(values, subject);
    case DType::kInt16:
      return convert_to<std::int16_t>(values, subject);
    case DType::kInt32:
      return convert_to<std::int32_t>(values, subject);
    case DType::kInt64:
      return convert_to<std::int64_t>(values, subject);
    case DType::kUInt8:
      return convert_to<std::uint8_t>(values, subject);
    case DType::kUInt16:
      return convert_to<std::uint16_t>(values, subject);
    case DType::kUInt32:
      return convert_to<std::uint32_t>(values, subject);
    default:
      return unsupported("[{}] expected an input of a type of whole bytes, got {}", subject,
                         dtype_name(dtype));
  }
}

}  // namespace anemone::values

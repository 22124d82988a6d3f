// SPDX-License-Identifier: Apache-2.0
// Elements of any dtype in the C++ type that arithmetic is done in: float for floats, int64 for
// integers (the products of two int32 fit), bool for bool. Storing rounds once, integers wrap
// around.
#pragma once

#include <anemone/status.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "tensor/tensor.h"

namespace anemone::kernels {

inline float load_element(Half value) {
  return to_float(value);
}
inline float load_element(float value) {
  return value;
}
inline bool load_element(bool value) {
  return value;
}
template <typename T>
requires std::numeric_limits<T>::is_integer std::int64_t load_element(T value) {
  return value;
}

// The type that load_element() gives for elements of type T.
template <typename T>
using Computed = decltype(load_element(T{}));

template <typename T, typename C>
T store_element(C value) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Toward zero and into the range of T; NaN gives 0.
template <typename T>
T saturate_to_integer(double value) {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(kLow)) return kLow;
  if (value >= static_cast<double>(kHigh)) return kHigh;
  return static_cast<T>(value);
}

// Calls f(T{}) with the type among Ts whose dtype is `dtype`.
template <typename... Ts, typename F>
Status visit_dtype(DType dtype, F&& f) {
  const bool found = ((kDTypeOf<Ts> == dtype && (f(Ts{}), true)) || ...);
  if (!found) return internal_error("no kernel for elements of {}", dtype_name(dtype));
  return ok_status();
}
template <typename F>
Status visit_floats(DType dtype, F&& f) {
  return visit_dtype<float, Half>(dtype, f);
}
template <typename F>
Status visit_numeric(DType dtype, F&& f) {
  return visit_dtype<float, Half, std::int32_t>(dtype, f);
}
template <typename F>
Status visit_any(DType dtype, F&& f) {
  return visit_dtype<float, Half, std::int32_t, bool, std::int8_t, std::uint8_t, std::int16_t,
                     std::uint16_t>(dtype, f);
}

}  // namespace anemone::kernels

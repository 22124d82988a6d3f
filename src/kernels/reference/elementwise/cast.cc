// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {
namespace {

template <typename Out>
Out convert(float value) {
  if constexpr (std::is_same_v<Out, bool>) {
    return value != 0.0f;
  } else if constexpr (std::is_integral_v<Out>) {
    return saturate_to_integer<Out>(value);
  } else {
    return store_element<Out>(value);
  }
}

template <typename Out>
Out convert(std::int64_t value) {
  if constexpr (std::is_same_v<Out, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<Out>) {
    return static_cast<Out>(std::clamp<std::int64_t>(value, std::numeric_limits<Out>::min(),
                                                     std::numeric_limits<Out>::max()));
  } else {
    return store_element<Out>(static_cast<float>(value));
  }
}

template <typename Out>
Out convert(bool value) {
  return convert<Out>(std::int64_t{value});
}

template <typename In, typename Out>
void convert_all(const TensorView& x, const MutableTensorView& y, ThreadPool& threads) {
  constexpr std::int64_t kGrain = 16384;
  const In* source = x.as<In>().data();
  Out* target = y.as<Out>().data();
  threads.parallel_for(x.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) target[i] = convert<Out>(load_element(source[i]));
  });
}

}  // namespace

// Floats go to integers toward zero; what lies outside of the range of the result saturates.
Status cast_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  Status inner;
  ANEMONE_RETURN_IF_ERROR(visit_any(x.dtype, [&](auto in) {
    inner = visit_any(
        y.dtype, [&](auto out) { convert_all<decltype(in), decltype(out)>(x, y, call.threads()); });
  }));
  return inner;
}

}  // namespace anemone::kernels::reference

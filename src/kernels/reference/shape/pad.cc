// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/strided_rows.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {
namespace {

constexpr std::int64_t kOutside = -1;

// The position in x for each position of a padded axis, kOutside for the constant.
std::vector<std::int64_t> source_positions(std::int64_t dim, std::int64_t padded,
                                           std::int64_t before, std::string_view mode) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(padded));
  for (std::int64_t i = 0; i < padded; ++i) {
    std::int64_t at = i - before;
    if (at < 0 || at >= dim) {
      if (mode == "reflect")
        at = at < 0 ? -at : 2 * (dim - 1) - at;
      else if (mode == "replicate")
        at = at < 0 ? 0 : dim - 1;
      else
        at = kOutside;
    }
    out[static_cast<std::size_t>(i)] = at;
  }
  return out;
}

template <typename T>
void pad(const TensorView& x, const MutableTensorView& y,
         const std::vector<std::vector<std::int64_t>>& positions, T constant) {
  const T* source = x.as<T>().data();
  T* target = y.as<T>().data();
  const Strides own = strides_of(x.shape);
  const std::size_t last = x.shape.size() - 1;
  const Shape outer(y.shape.begin(), y.shape.end() - 1);
  std::vector<std::int64_t> index(outer.size());
  for (std::int64_t rows = element_count(outer); rows > 0; --rows, target += y.shape[last]) {
    std::int64_t offset = 0;
    bool is_outside = false;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t at = positions[i][static_cast<std::size_t>(index[i])];
      is_outside |= at == kOutside;
      offset += at * own[i];
    }
    for (std::size_t i = 0; i < positions[last].size(); ++i) {
      const std::int64_t at = positions[last][i];
      target[i] = is_outside || at == kOutside ? constant : source[offset + at];
    }
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < outer[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace

Status pad_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  const std::vector<std::int64_t> pads = call.ints_or("pad", {});
  const std::string_view mode = call.text("mode", "constant");
  const auto constant = static_cast<float>(call.number("constant_val", 0));
  const std::size_t rank = x.shape.size();
  const std::size_t first = rank - pads.size() / 2;
  std::vector<std::vector<std::int64_t>> positions;
  for (std::size_t i = 0; i < rank; ++i)
    positions.push_back(
        source_positions(x.shape[i], y.shape[i], i < first ? 0 : pads[2 * (i - first)], mode));
  return visit_floats(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (rank == 0)
      y.as<T>()[0] = x.as<T>()[0];
    else
      pad<T>(x, y, positions, store_element<T>(constant));
  });
}

}  // namespace anemone::kernels::reference

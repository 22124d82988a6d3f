// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/strided_rows.h"
#include "kernels/reference/linear/dot.h"
#include "kernels/reference/linear/gemm.h"
#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {
namespace {

// The mask as terms to add, and where its rows lie for each (batch, query row).
struct Mask {
  std::vector<float> terms;
  std::vector<std::int64_t> rows;  // offset of the mask row, for each batch and query row
};

Mask mask_of(const KernelCall& call) {
  Mask mask;
  if (!call.has("attn_mask")) return mask;
  const TensorView view = call.input("attn_mask");
  mask.terms = to_floats(view);
  if (view.dtype == DType::kBool)
    for (float& term : mask.terms)
      term = term != 0 ? 0.0f : -std::numeric_limits<float>::infinity();
  const TensorView query = call.input("query");
  // Offsets over [batch..., L]; the mask's last dimension is S, or one row with an entry per key.
  const Shape space(query.shape.begin(), query.shape.end() - 1);
  Shape own = view.shape;
  const std::int64_t keys = own.back();
  own.pop_back();
  Strides strides = broadcast_strides(own, space);
  const StridedRows<1> walk(space, {strides});
  walk.for_rows(0, walk.rows(), [&](const StridedRows<1>::Offsets& offsets, std::int64_t) {
    for (std::int64_t i = 0; i < walk.row_length(); ++i)
      mask.rows.push_back((offsets[0] + i * walk.row_stride(0)) * keys);
  });
  return mask;
}

MatrixView matrix_at(const TensorView& view, std::int64_t batch, bool is_transposed) {
  const std::int64_t outer = view.shape[view.shape.size() - 2];
  const std::int64_t inner = view.shape.back();
  const std::byte* data = view.data + batch * outer * inner * (dtype_bits(view.dtype) / 8);
  if (is_transposed) return {view.dtype, data, inner, outer, 1, inner};
  return {view.dtype, data, outer, inner, inner, 1};
}

template <typename T>
void attend(const KernelCall& call, const Mask& mask, std::int64_t batch) {
  const TensorView query = call.input("query");
  const TensorView key = call.input("key");
  const TensorView value = call.input("value");
  const std::int64_t length = query.shape[query.shape.size() - 2];
  const std::int64_t depth = query.shape.back();
  const std::int64_t keys = key.shape[key.shape.size() - 2];
  const std::int64_t width = value.shape.back();
  std::vector<float> q(static_cast<std::size_t>(length * depth));
  std::vector<float> k(static_cast<std::size_t>(keys * depth));
  std::vector<float> v(static_cast<std::size_t>(width * keys));  // transposed
  pack_rows(matrix_at(query, batch, false), 0, length, q.data());
  pack_rows(matrix_at(key, batch, false), 0, keys, k.data());
  pack_rows(matrix_at(value, batch, true), 0, width, v.data());
  const float scale = 1.0f / std::sqrt(static_cast<float>(depth));
  T* out = call.output().as<T>().data() + batch * length * width;
  std::vector<float> scores(static_cast<std::size_t>(keys));
  for (std::int64_t row = 0; row < length; ++row) {
    bool is_masked = true;
    for (std::int64_t s = 0; s < keys; ++s) {
      float score = dot(k.data() + s * depth, q.data() + row * depth, depth) * scale;
      if (!mask.terms.empty())
        score += mask.terms[static_cast<std::size_t>(
            mask.rows[static_cast<std::size_t>(batch * length + row)] + s)];
      scores[static_cast<std::size_t>(s)] = score;
      is_masked = is_masked && score == -std::numeric_limits<float>::infinity();
    }
    // A query that attends to nothing gives zeros: NaN would spread through later layers.
    if (is_masked)
      std::fill(scores.begin(), scores.end(), 0.0f);
    else
      softmax(scores);
    for (std::int64_t e = 0; e < width; ++e)
      out[row * width + e] = store_element<T>(dot(v.data() + e * keys, scores.data(), keys));
  }
}

}  // namespace

Status scaled_dot_product_attention_kernel(const KernelCall& call) {
  const MutableTensorView out = call.output();
  if (out.size() == 0) return {};
  const Mask mask = mask_of(call);
  const std::int64_t row = out.shape.back() * out.shape[out.shape.size() - 2];
  call.threads().parallel_for(out.size() / row, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t batch = begin; batch < end; ++batch) {
      if (out.dtype == DType::kFp16)
        attend<Half>(call, mask, batch);
      else
        attend<float>(call, mask, batch);
    }
  });
  return {};
}

}  // namespace anemone::kernels::reference

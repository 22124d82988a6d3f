// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/norm/norm.h"

namespace anemone::ops {
namespace {

// query [batch..., L, E], key [batch..., S, E], value [batch..., S, EV], attn_mask broadcast to
// [batch..., L, S] with S itself never broadcast -> [batch..., L, EV].
Status infer_attention(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& query = context.type("query");
  const Shape& key = context.type("key").shape;
  const Shape& value = context.type("value").shape;
  const std::size_t rank = query.shape.size();
  if (rank < 3 || key.size() != rank || value.size() != rank)
    return ir::violated(
        "scaled_dot_product_attention_c1",
        "expected query, key and value of the same rank 3 or more, got {}, {} and {}",
        to_string(query.shape), to_string(key), to_string(value));
  Shape out = query.shape;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (!dims_agree(out[i], key[i]) || !dims_agree(out[i], value[i]) ||
        !dims_agree(key[i], value[i]))
      return ir::violated("scaled_dot_product_attention_c2",
                          "expected the same batch dimensions, got {}, {} and {}",
                          to_string(query.shape), to_string(key), to_string(value));
    out[i] = std::max({out[i], key[i], value[i]});
  }
  if (!dims_agree(query.shape[rank - 1], key[rank - 1]))
    return ir::violated("scaled_dot_product_attention_c3",
                        "expected the same embedding size in query and key, got {} and {}",
                        query.shape[rank - 1], key[rank - 1]);
  if (!dims_agree(key[rank - 2], value[rank - 2]))
    return ir::violated("scaled_dot_product_attention_c4",
                        "expected the same length in key and value, got {} and {}", key[rank - 2],
                        value[rank - 2]);
  if (context.has("attn_mask")) {
    const Shape& mask = context.type("attn_mask").shape;
    bool fits = !mask.empty() && mask.size() <= rank && dims_agree(mask.back(), key[rank - 2]);
    for (std::size_t i = 2; fits && i <= mask.size(); ++i) {
      const std::int64_t dim = mask[mask.size() - i];
      fits = dim == 1 || dims_agree(dim, out[rank - i]);
    }
    if (!fits)
      return ir::violated("scaled_dot_product_attention_c5",
                          "expected a mask that broadcasts to [batch, {}, {}], got {}",
                          out[rank - 2], key[rank - 2], to_string(mask));
  }
  out.back() = value.back();
  return add_output(outputs, "scaled_dot_product_attention_c6", query.dtype, std::move(out));
}

}  // namespace

ir::OpSchema scaled_dot_product_attention_schema() {
  ir::OpSchema schema;
  schema.name = "scaled_dot_product_attention";
  schema.since = ir::Opset::kIOS18;
  schema.parameters = {
      operand("query", kFloats, 'T'),
      operand("key", kFloats, 'T'),
      operand("value", kFloats, 'T'),
      optional(operand("attn_mask", kFloats | kBool)),
  };
  schema.infer = infer_attention;
  return schema;
}

}  // namespace anemone::ops

// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/linear/linear.h"

namespace anemone::ops {
namespace {

// The equation with its letters renamed a, b, c ... in order of appearance and without spaces, so
// that equivalent spellings are equal.
std::optional<std::string> canonical_equation(std::string_view equation) {
  if (equation.size() > 64) return std::nullopt;
  std::string letters;
  std::string out;
  for (const char c : equation) {
    if (c == ' ') continue;
    if (c == ',' || c == '-' || c == '>') {
      out += c;
      continue;
    }
    std::size_t i = letters.find(c);
    if (i == std::string::npos) {
      i = letters.size();
      letters += c;
    }
    if (i >= 26) return std::nullopt;
    out += static_cast<char>('a' + static_cast<int>(i));
  }
  return out;
}

Status infer_einsum(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  if (context.count("values") != 2)
    return ir::violated("einsum_c1", "expected two operands, got {}", context.count("values"));
  const ir::Type& x = context.type("values", 0);
  const ir::Type& y = context.type("values", 1);
  const std::size_t rank = x.shape.size();
  if ((rank != 3 && rank != 4) || y.shape.size() != rank)
    return ir::violated("einsum_c2", "expected operands of the same rank 3 or 4, got {} and {}",
                        to_string(x.shape), to_string(y.shape));
  const auto equation = context.text("equation");
  if (!equation) return ir::violated("einsum_c3", "expected a known equation");
  const std::string_view wanted = rank == 4 ? "abcd,adce->abce" : "abc,cbd->abd";
  if (canonical_equation(*equation) != wanted)
    return ir::violated("einsum_c3",
                        "expected the equation nchw,nwhu->nchu or chw,whr->chr for its rank, got "
                        "\"{}\"",
                        *equation);
  if (!dims_agree(x.shape[rank - 1], y.shape[rank - 3]))
    return ir::violated("einsum_c4", "expected the same contraction size, got {} and {}",
                        x.shape[rank - 1], y.shape[rank - 3]);
  const auto batch = [rank](const Shape& shape) {
    Shape out(shape.begin(), shape.end() - 3);
    out.push_back(shape[rank - 2]);
    return out;
  };
  const auto merged = broadcast_shapes(batch(x.shape), batch(y.shape));
  if (!merged.ok())
    return ir::violated("einsum_c5", "expected batch dimensions that broadcast, got {} and {}",
                        to_string(x.shape), to_string(y.shape));
  Shape out(merged->begin(), merged->end() - 1);
  out.push_back(x.shape[rank - 3]);
  out.push_back(merged->back());
  out.push_back(y.shape[rank - 1]);
  return add_output(outputs, "einsum_c6", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema einsum_schema() {
  ir::Parameter values = operand("values", kFloats, 'T');
  values.is_variadic = true;
  ir::OpSchema schema;
  schema.name = "einsum";
  schema.parameters = {std::move(values), constant("equation", kText)};
  schema.infer = infer_einsum;
  return schema;
}

}  // namespace anemone::ops

// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/projection.h"

#include <array>

#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/projection_op.h"
#include "exec/cpu/fusion/weight_matrix.h"

namespace anemone::exec {
namespace {

// A 1x1 convolution without steps, borders or groups.
bool is_pointwise(const FusionGraph& graph, const PreparedOp& conv) {
  for (const std::string_view name : {"strides", "dilations"})
    for (const std::int64_t value : graph.ints(conv, name))
      if (value != 1) return false;
  for (const std::int64_t value : graph.ints(conv, "pad"))
    if (value != 0) return false;
  return graph.number(conv, "groups").value_or(1) == 1;
}

}  // namespace

std::optional<ProjectionParts> projection_of(const FusionGraph& graph, const PreparedOp& root,
                                             bool may_be_open) {
  if (root.kind != PreparedOp::Kind::kKernel || !(root.is_statically_checked || may_be_open))
    return std::nullopt;
  const bool is_conv = root.op->type == "conv";
  if (!is_conv && root.op->type != "linear") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  const auto matrix = weight_matrix(graph, FusionGraph::argument(root, "weight"));
  if (x < 0 || !matrix) return std::nullopt;
  const ir::Type& type = graph.type(x);
  if (type.dtype != DType::kFp16 || graph.type(root.outputs[0]).dtype != DType::kFp16)
    return std::nullopt;
  // One image: its pixels are the tokens.
  if (is_conv && (!is_pointwise(graph, root) || type.shape.size() != 4 || type.shape[0] != 1 ||
                  type.shape[1] != matrix->k))
    return std::nullopt;
  if (!is_conv && (type.shape.empty() || type.shape.back() != matrix->k)) return std::nullopt;
  const TensorView* bias = nullptr;
  if (const int reg = FusionGraph::argument(root, "bias"); reg >= 0) {
    bias = graph.constant(reg);
    if (bias == nullptr || bias->dtype != DType::kFp16 || bias->size() != matrix->rows)
      return std::nullopt;
  }
  return ProjectionParts{x, *matrix, bias == nullptr ? nullptr : bias->as<Half>().data(), is_conv};
}

std::optional<Fusion> match_projection(const FusionGraph& graph, PreparedOp& root) {
  // All but x is constant, and no type rule reads the elements of x.
  const auto parts = projection_of(graph, root, true);
  if (!parts) return std::nullopt;
  return Fusion{std::make_shared<ProjectionOp>(parts->matrix, parts->bias, parts->is_channel_major),
                &root,
                {parts->x},
                {},
                {}};
}

}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/chain_op.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace anemone::exec {
namespace {

using Code = kernels::simd::ChainOp;

constexpr std::int64_t kChainGrain = 16 * kernels::simd::kChainBlock;

constexpr std::pair<std::string_view, Code> kBinary[] = {
    {"add", Code::kAdd},      {"sub", Code::kSub},         {"mul", Code::kMul},
    {"real_div", Code::kDiv}, {"maximum", Code::kMaximum}, {"minimum", Code::kMinimum},
};

// Parameters by name; the default where the operation may do without one.
struct UnaryForm {
  std::string_view type;
  Code code;
  std::string_view p = {};
  std::string_view q = {};
  std::optional<double> default_p = {};
};
constexpr UnaryForm kUnary[] = {
    {"abs", Code::kAbs},
    {"square", Code::kSquare},
    {"sqrt", Code::kSqrt},
    {"rsqrt", Code::kRsqrt, "epsilon", {}, 1e-12},
    {"inverse", Code::kInverse, "epsilon", {}, 1e-4},
    {"exp", Code::kExp},
    {"sigmoid", Code::kSigmoid},
    {"silu", Code::kSilu},
    {"tanh", Code::kTanh},
    {"erf", Code::kErf},
    {"softplus", Code::kSoftplus},
    {"softsign", Code::kSoftsign},
    {"elu", Code::kElu, "alpha"},
    {"leaky_relu", Code::kLeakyRelu, "alpha"},
    {"clip", Code::kClip, "alpha", "beta"},
    {"threshold", Code::kAtLeast, "alpha"},
    {"thresholded_relu", Code::kThresholdedRelu, "alpha"},
    {"sigmoid_hard", Code::kSigmoidHard, "alpha", "beta"},
};

bool is_half(const FusionGraph& graph, int reg) {
  const TensorView* value = graph.constant(reg);
  if (value != nullptr) return value->dtype == DType::kFp16;
  return reg >= 0 && graph.type(reg).is_tensor() && graph.type(reg).dtype == DType::kFp16;
}

std::optional<Code> gelu_code(const FusionGraph& graph, const PreparedOp& op) {
  const int reg = FusionGraph::argument(op, "mode");
  if (reg < 0) return Code::kGelu;
  const auto mode = graph.function().initial[static_cast<std::size_t>(reg)].text;
  if (mode == "EXACT") return Code::kGelu;
  if (mode == "TANH_APPROXIMATION") return Code::kGeluTanh;
  if (mode == "SIGMOID_APPROXIMATION") return Code::kGeluSigmoid;
  return std::nullopt;
}

std::optional<ChainNode> binary_node(const FusionGraph& graph, const PreparedOp& op, Code code) {
  ChainNode node;
  node.step.op = code;
  const int x = FusionGraph::argument(op, "x");
  const int y = FusionGraph::argument(op, "y");
  if (!is_half(graph, x) || !is_half(graph, y)) return std::nullopt;
  node.operands = {x, y};
  if (const auto value = graph.scalar(x)) {
    node.operands[0] = -1;
    node.step.a = kernels::simd::kChainConstant;
    node.step.p = static_cast<float>(*value);
  } else if (const auto other = graph.scalar(y)) {
    node.operands[1] = -1;
    node.step.b = kernels::simd::kChainConstant;
    node.step.q = static_cast<float>(*other);
  }
  return node;
}

std::optional<ChainNode> unary_node(const FusionGraph& graph, const PreparedOp& op) {
  const std::string_view type = op.op->type;
  ChainNode node;
  node.operands[0] = FusionGraph::argument(op, "x");
  if (!is_half(graph, node.operands[0])) return std::nullopt;
  if (type == "relu" || type == "relu6") {
    node.step.op = type == "relu" ? Code::kAtLeast : Code::kClip;
    node.step.q = 6;
    return node;
  }
  if (type == "gelu") {
    const auto code = gelu_code(graph, op);
    if (!code) return std::nullopt;
    node.step.op = *code;
    return node;
  }
  if (type == "pow") {
    const double exponent = graph.number(op, "y").value_or(0);
    if (exponent != 2 && exponent != 3) return std::nullopt;
    node.step.op = exponent == 2 ? Code::kSquare : Code::kCube;
    return node;
  }
  for (const UnaryForm& form : kUnary) {
    if (form.type != type) continue;
    node.step.op = form.code;
    for (const auto& [name, value] : {std::pair{form.p, &node.step.p}, {form.q, &node.step.q}}) {
      if (name.empty()) continue;
      const bool is_left_out = FusionGraph::argument(op, name) < 0;
      const auto given = is_left_out ? form.default_p : graph.number(op, name);
      if (!given) return std::nullopt;
      *value = static_cast<float>(*given);
    }
    return node;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChainNode> chain_node(const FusionGraph& graph, const PreparedOp& op) {
  if (!FusionGraph::is_statically_checked(op)) return std::nullopt;
  for (const auto& [type, code] : kBinary)
    if (type == op.op->type) return binary_node(graph, op, code);
  return unary_node(graph, op);
}

std::optional<kernels::simd::ChainInput> chain_input(const Shape& part, const Shape& whole) {
  if (part.size() > whole.size()) return std::nullopt;
  const std::size_t skip = whole.size() - part.size();
  // The axes that are there, as a range: [first, last).
  std::size_t first = part.size();
  std::size_t last = 0;
  for (std::size_t i = 0; i < part.size(); ++i)
    if (part[i] != 1) {
      first = std::min(first, i);
      last = i + 1;
    }
  kernels::simd::ChainInput out;
  for (std::size_t i = first; i < last; ++i) {
    if (part[i] != whole[i + skip]) return std::nullopt;
    out.size *= part[i];
  }
  if (out.size == 1) return out;
  for (std::size_t i = last + skip; i < whole.size(); ++i) out.inner *= whole[i];
  return out;
}

ChainOp::ChainOp(Shape shape, std::vector<kernels::simd::ChainInput> inputs,
                 std::vector<kernels::simd::ChainStep> steps)
    : shape_(std::move(shape)), inputs_(std::move(inputs)), steps_(std::move(steps)) {}

Status ChainOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  const kernels::simd::Chain chain = {inputs_.data(), steps_.data(),
                                      static_cast<std::int64_t>(steps_.size())};
  parallel_for_calls(
      calls, context.threads, [](const FusedCall& call) { return call.outputs[0].size(); },
      kChainGrain,
      [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
        const Half* inputs[kernels::simd::kChainInputs];
        for (std::size_t i = 0; i < call.inputs.size(); ++i)
          inputs[i] = call.inputs[i]->as<Half>().data();
        context.kernels.run_chain(chain, inputs, begin, end, call.outputs[0].as<Half>().data());
      });
  return {};
}

}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
// Sparse mixtures of experts, by what they compute: a sum of terms, each of them one number per
// token times a gated MLP of one and the same input.
#include <algorithm>
#include <set>

#include "exec/cpu/fusion/chain_writer.h"
#include "exec/cpu/fusion/experts_op.h"
#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/projection.h"
#include "exec/cpu/fusion/top_k_mask.h"

namespace anemone::exec {
namespace {

ProjectionOp op_of(const ProjectionParts& parts) {
  return {parts.matrix, parts.bias, parts.is_channel_major};
}

class ExpertsFinder {
 public:
  ExpertsFinder(const FusionGraph& graph, PreparedOp& root) : graph_(graph), root_(root) {}

  std::optional<Fusion> find() {
    if (!is_half(root_.outputs[0]) || !(is_lone_term() || is_sum())) return {};
    // A constant is as large as the sum only if there is one token. Added here for one and outside
    // for more, it would be rounded differently.
    if (addend_ >= 0 && (!fits_sum(addend_) || graph_.constant(addend_) != nullptr)) return {};
    const ExpertCounts counts = counts_of(weights_.front());
    Fusion out;
    out.root = &root_;
    out.inputs = {x_};
    out.inputs.insert(out.inputs.end(), weights_.begin(), weights_.end());
    if (addend_ >= 0) out.inputs.push_back(addend_);
    out.inner = std::move(inner_);
    out.op =
        std::make_shared<ExpertsOp>(std::move(experts_), counts, is_channel_major_, addend_ >= 0);
    return out;
  }

 private:
  // A shard may have one expert of many and what is before it.
  bool is_sum() { return root_.op->type == "add" && add_terms(root_) && !experts_.empty(); }

  // Whether the match ends after the first expert of many, which is the sum so far.
  bool is_lone_term() {
    const auto is_add = [](const PreparedOp* user) { return user->op->type == "add"; };
    const int reg = root_.outputs[0];
    if (root_.op->type != "mul" || std::ranges::any_of(graph_.users(reg), is_add)) return false;
    if (!add_term(reg) || counts_of(weights_.front()).total < 2) return false;
    std::erase(inner_, &root_);
    return true;
  }

  bool is_half(int reg) const {
    const ir::Type& type = graph_.type(reg);
    return type.is_tensor() && type.dtype == DType::kFp16;
  }
  bool fits_sum(int reg) const {
    const ir::Type& type = graph_.type(reg);
    return type.is_tensor() && type.dtype == DType::kFp16 && is_static(type.shape) &&
           type.shape == graph_.type(root_.outputs[0]).shape;
  }

  // The operands of a sum: sums of the same kind, terms, and one other value at most.
  bool add_terms(PreparedOp& sum) {
    // A long sum is a long row of additions, mostly on the left.
    std::vector<int> left = {FusionGraph::argument(sum, "y"), FusionGraph::argument(sum, "x")};
    while (!left.empty()) {
      const int reg = left.back();
      left.pop_back();
      if (reg < 0) return false;
      PreparedOp* add = graph_.producer(reg, "add");
      if (add != nullptr && graph_.use_count(reg) == 1 &&
          graph_.type(reg).shape == graph_.type(root_.outputs[0]).shape) {
        inner_.push_back(add);
        left.push_back(FusionGraph::argument(*add, "y"));
        left.push_back(FusionGraph::argument(*add, "x"));
        continue;
      }
      if (add_term(reg)) continue;
      if (addend_ >= 0) return false;
      addend_ = reg;
    }
    return true;
  }

  bool add_term(int reg) {
    PreparedOp* product = graph_.producer(reg, "mul");
    if (product == nullptr) return false;
    for (const std::string_view side : {"x", "y"}) {
      const int out = FusionGraph::argument(*product, side);
      const int weight = FusionGraph::other(*product, out);
      PreparedOp* down = out < 0 ? nullptr : graph_.producer(out);
      if (down == nullptr || weight < 0) continue;
      const auto parts = projection_of(graph_, *down);
      // All terms are as large as their sum: an operand that broadcasts has fewer rows or tokens.
      if (!parts || !is_weight(weight, *parts) || !fits_sum(out)) continue;
      const std::size_t before = inner_.size();
      if (add_expert(*parts)) {
        weights_.push_back(weight);
        inner_.insert(inner_.end(), {product, down});
        return true;
      }
      inner_.resize(before);
    }
    return false;
  }

  // One number per token: the shape of the sum, with one channel.
  bool is_weight(int reg, const ProjectionParts& parts) const {
    if (!is_half(reg)) return false;
    Shape shape = graph_.type(root_.outputs[0]).shape;
    if (shape.size() < 2) return false;
    shape[parts.is_channel_major ? 1 : shape.size() - 1] = 1;
    return graph_.type(reg).shape == shape;
  }

  // What lies between the input and the last projection of an expert.
  bool add_expert(const ProjectionParts& down) {
    const Shape& shape = graph_.type(down.x).shape;
    std::vector<ChainMember> members;
    std::vector<int> open = {down.x};
    std::set<int> leaves;
    while (!open.empty()) {
      const int reg = open.back();
      open.pop_back();
      PreparedOp* op = reg < 0 ? nullptr : graph_.producer(reg);
      if (op == nullptr || graph_.type(reg).shape != shape) return false;
      if (std::ranges::find(members, op, &ChainMember::op) != members.end()) continue;
      const auto node = chain_node(graph_, *op);
      if (!node) {
        leaves.insert(reg);
        continue;
      }
      members.push_back({op, *node});
      for (const int operand : node->operands)
        if (operand >= 0) open.push_back(operand);
    }
    if (members.empty()) return false;
    std::ranges::sort(members, {}, &ChainMember::op);
    ChainWriter writer(graph_, shape, members);
    if (members.back().result() != down.x || !writer.write()) return false;
    Expert expert{{}, {}, std::move(writer.steps), op_of(down)};
    std::vector<PreparedOp*> projections;
    for (const int reg : writer.registers) {
      const auto part = part_of(reg, expert, projections);
      if (!part) return false;
      expert.parts.push_back(*part);
    }
    if (down.is_channel_major != is_channel_major_) return false;
    for (const ChainMember& member : members) inner_.push_back(member.op);
    inner_.insert(inner_.end(), projections.begin(), projections.end());
    experts_.push_back(std::move(expert));
    return true;
  }

  // A value that a projection of the input gives, or a part of what one gives.
  std::optional<Expert::Part> part_of(int reg, Expert& expert,
                                      std::vector<PreparedOp*>& projections) {
    PreparedOp* op = graph_.producer(reg);
    std::int64_t offset = 0;
    PreparedOp* split = graph_.producer(reg, "split");
    if (split != nullptr) {
      op = graph_.producer(FusionGraph::argument(*split, "x"));
      if (op == nullptr) return std::nullopt;
    }
    const auto parts = projection_of(graph_, *op);
    if (!parts || !is_first(*parts)) return std::nullopt;
    if (split != nullptr) {
      const auto rank = static_cast<double>(graph_.type(reg).shape.size());
      const double axis = graph_.number(*split, "axis").value_or(-99);
      const double channels = is_channel_major_ ? 1 : rank - 1;
      if ((axis < 0 ? axis + rank : axis) != channels) return std::nullopt;
      for (const int other : split->outputs) {
        if (other == reg) break;
        offset += graph_.type(other).shape[static_cast<std::size_t>(channels)];
      }
      if (std::ranges::find(inner_, split) == inner_.end()) inner_.push_back(split);
    }
    const auto known = std::ranges::find(projections, op);
    const auto index = static_cast<std::size_t>(known - projections.begin());
    if (known == projections.end()) {
      projections.push_back(op);
      expert.in.push_back(op_of(*parts));
    }
    return Expert::Part{index, offset};
  }

  // Whether it is a projection of the input that all experts have.
  bool is_first(const ProjectionParts& parts) {
    if (x_ < 0) {
      x_ = parts.x;
      is_channel_major_ = parts.is_channel_major;
    }
    return parts.x == x_ && parts.is_channel_major == is_channel_major_;
  }

  // The weights of all experts of a layer are split, those of a part of it come from the split.
  ExpertCounts counts_of(int weight) const {
    const PreparedOp* split = graph_.producer(weight, "split");
    const std::size_t weights = split == nullptr ? 0 : split->outputs.size();
    ExpertCounts out;
    out.total = static_cast<std::int64_t>(std::max(experts_.size(), weights));
    out.active = std::min(out.total, active_of(weight).value_or(0));
    return out;
  }

  // How many weights of a token are not 0, where a top-k lies behind them.
  std::optional<std::int64_t> active_of(int weight) const {
    constexpr std::size_t kMaxOperations = 64;
    std::vector<int> open = {weight};
    std::set<const PreparedOp*> seen;
    while (!open.empty() && seen.size() < kMaxOperations) {
      PreparedOp* op = graph_.producer(open.back());
      open.pop_back();
      if (op == nullptr || !seen.insert(op).second) continue;
      if (const auto* mask = dynamic_cast<const TopKMaskOp*>(op->fused.get())) return mask->k();
      if (op->op->type == "topk") {
        if (const auto k = graph_.number(*op, "k")) return static_cast<std::int64_t>(*k);
        continue;
      }
      if (projection_of(graph_, *op)) continue;
      for (const Operand& operand : op->operands)
        open.insert(open.end(), operand.registers.begin(), operand.registers.end());
    }
    return std::nullopt;
  }

  const FusionGraph& graph_;
  PreparedOp& root_;
  int x_ = -1;
  int addend_ = -1;
  bool is_channel_major_ = false;
  std::vector<Expert> experts_;
  std::vector<int> weights_;  // of each expert
  std::vector<PreparedOp*> inner_;
};

}  // namespace

std::optional<Fusion> match_experts(const FusionGraph& graph, PreparedOp& root) {
  return ExpertsFinder(graph, root).find();
}

}  // namespace anemone::exec

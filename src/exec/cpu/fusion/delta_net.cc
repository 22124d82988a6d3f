// SPDX-License-Identifier: Apache-2.0
// Gated delta nets, by what they compute: the steps of all tokens of a function over one state,
// each of which reads what the one before it has left.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/delta_net_op.h"
#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/replaced_state.h"

namespace anemone::exec {
namespace {

constexpr std::size_t kTokenAxis = 2;  // of operands
constexpr std::size_t kKeyAxis = 2;    // of states

class DeltaNetMatch {
 public:
  explicit DeltaNetMatch(const FusionGraph& graph) : graph_(graph) {}

  // root: what one token reads, a product, or the products of several tokens joined.
  std::optional<Fusion> match(PreparedOp& root) {
    if (!find_reads(root)) return std::nullopt;
    // From the last token on: what is no delta net is mostly seen to be none at once.
    for (std::size_t t = reads_.size(); t-- > 0;)
      if (!match_token(t)) return std::nullopt;
    state_ = match_replaced_state(graph_, stored_, state_after(reads_.size() - 1));
    if (!state_ || !have_shapes()) return std::nullopt;
    inner_.insert(inner_.end(), state_->inner.begin(), state_->inner.end());
    if (takes_its_own()) return std::nullopt;
    Fusion fusion{std::make_shared<DeltaNetOp>(state_->shape[kKeyAxis]),
                  &root,
                  {operands_.begin(), operands_.end()},
                  {},
                  std::move(inner_)};
    state_->add_to(fusion);
    return fusion;
  }

 private:
  bool find_reads(PreparedOp& root) {
    if (root.op->type == "matmul") {
      reads_ = {&root};
      return true;
    }
    const Operand* values = root.operand("values");
    if (root.op->type != "concat" || !is_token_axis(root) || graph_.flag(root, "interleave") ||
        values == nullptr || values->registers.size() < 2)
      return false;
    for (const int reg : values->registers) {
      PreparedOp* read = take(reg, "matmul");
      if (read == nullptr) return false;
      reads_.push_back(read);
    }
    return true;
  }

  PreparedOp* take(int reg, std::string_view op) {
    PreparedOp* found = graph_.producer(reg, op);
    if (found != nullptr) inner_.push_back(found);
    return found;
  }

  bool is_token_axis(const PreparedOp& op) const {
    const double axis = graph_.number(op, "axis").value_or(99);
    return axis == 2 || axis == -2;
  }

  // A product of two matrices as they are; nullptr for others.
  const PreparedOp* product(const PreparedOp* op) const {
    return op == nullptr || graph_.is_transposed(*op) ? nullptr : op;
  }

  int state_after(std::size_t t) const { return FusionGraph::argument(*reads_[t], "y"); }

  bool match_token(std::size_t t) {
    if (product(reads_[t]) == nullptr) return false;
    PreparedOp* updated = take(state_after(t), "add");
    if (updated == nullptr) return false;
    for (const std::string_view side : {"x", "y"}) {
      const int kept = FusionGraph::argument(*updated, side);
      PreparedOp* decayed = graph_.producer(kept, "mul");
      PreparedOp* outer = graph_.producer(FusionGraph::other(*updated, kept), "mul");
      if (decayed == nullptr || outer == nullptr || decayed == outer) continue;
      const std::size_t before = inner_.size();
      inner_.insert(inner_.end(), {decayed, outer});
      if (match_outer(t, *outer, kept) && match_decay(t, *decayed) &&
          set_operand(DeltaNetOp::kQueries, FusionGraph::argument(*reads_[t], "x"), t))
        return true;
      inner_.resize(before);
    }
    return false;
  }

  // decay * S
  bool match_decay(std::size_t t, const PreparedOp& decayed) {
    if (t > 0) {
      const int decay = FusionGraph::other(decayed, state_after(t - 1));
      return set_operand(DeltaNetOp::kDecays, decay, t);
    }
    for (const std::string_view side : {"x", "y"}) {
      stored_ = FusionGraph::argument(decayed, side);
      if (stored_ < 0) continue;
      if (is_stored(t))
        return set_operand(DeltaNetOp::kDecays, FusionGraph::other(decayed, stored_), t);
    }
    return false;
  }

  // Whether `stored_` is what is kept from step to step: read from a state, or an input of the
  // function, as a decay may be one, too, in the shape of what is left after token t.
  bool is_stored(std::size_t t) const {
    if (const PreparedOp* read = graph_.producer(stored_))
      return read->kind == PreparedOp::Kind::kReadState;
    const ir::Type& type = graph_.type(stored_);
    return graph_.input(stored_).has_value() && type.is_tensor() &&
           type.shape == graph_.type(state_after(t)).shape;
  }

  // column * (strength * (value - key @ decayed)), where the column is the key.
  bool match_outer(std::size_t t, const PreparedOp& outer, int decayed) {
    for (const std::string_view side : {"x", "y"}) {
      const int written_register = FusionGraph::argument(outer, side);
      PreparedOp* written = graph_.producer(written_register, "mul");
      if (written == nullptr) continue;
      for (const std::string_view part : {"x", "y"}) {
        const int news_register = FusionGraph::argument(*written, part);
        PreparedOp* news = graph_.producer(news_register, "sub");
        PreparedOp* said = news == nullptr
                               ? nullptr
                               : graph_.producer(FusionGraph::argument(*news, "y"), "matmul");
        if (product(said) == nullptr || FusionGraph::argument(*said, "y") != decayed) continue;
        inner_.insert(inner_.end(), {written, news, said});
        const int key = FusionGraph::argument(*said, "x");
        return is_column_of(FusionGraph::other(outer, written_register), key) &&
               set_operand(DeltaNetOp::kKeys, key, t) &&
               set_operand(DeltaNetOp::kValues, FusionGraph::argument(*news, "x"), t) &&
               set_operand(DeltaNetOp::kStrengths, FusionGraph::other(*written, news_register), t);
      }
    }
    return false;
  }

  // The key [a, b, 1, K] as [a, b, K, 1], which is another shape unless K is 1.
  bool is_column_of(int column, int key) {
    if (column < 0 || key < 0) return false;
    if (column != key) {
      const PreparedOp* reshape = take(column, "reshape");
      if (reshape == nullptr || FusionGraph::argument(*reshape, "x") != key) return false;
    }
    Shape shape = graph_.type(key).shape;
    if (shape.size() != 4) return false;
    std::swap(shape[2], shape[3]);
    return graph_.type(column).shape == shape;
  }

  // The tensor of all tokens of which `reg` is token t.
  bool set_operand(DeltaNetOp::Input input, int reg, std::size_t t) {
    if (reg < 0) return false;
    int whole = reg;
    if (reads_.size() > 1) {
      const PreparedOp* split = graph_.producer(reg, "split");
      if (split == nullptr || !is_token_axis(*split) || split->outputs.size() != reads_.size() ||
          split->outputs[t] != reg)
        return false;
      whole = FusionGraph::argument(*split, "x");
    }
    const ir::Type& part = graph_.type(reg);
    if (!part.is_tensor() || part.shape.size() != 4 || part.shape[kTokenAxis] != 1) return false;
    if (t + 1 < reads_.size()) return operands_[input] == whole;
    operands_[input] = whole;
    if (reads_.size() > 1) inner_.push_back(graph_.producer(reg));
    return whole >= 0;
  }

  // The shapes of all values between follow from those of the state and the operands.
  bool have_shapes() const {
    const Shape& state = state_->shape;
    if (state_->dtype != DType::kFp16 || state.size() != 4 || !is_static(state)) return false;
    const auto has = [&](DeltaNetOp::Input input, std::int64_t size, bool is_of_every_head) {
      const ir::Type& operand = graph_.type(operands_[input]);
      if (!operand.is_tensor() || operand.dtype != DType::kFp16 || operand.shape.size() != 4)
        return false;
      for (std::size_t i = 0; i < kTokenAxis; ++i)
        if (operand.shape[i] != state[i] && (is_of_every_head || operand.shape[i] != 1))
          return false;
      return operand.shape[kTokenAxis] == static_cast<std::int64_t>(reads_.size()) &&
             operand.shape[3] == size;
    };
    return has(DeltaNetOp::kQueries, state[kKeyAxis], false) &&
           has(DeltaNetOp::kKeys, state[kKeyAxis], false) &&
           has(DeltaNetOp::kValues, state[3], true) && has(DeltaNetOp::kStrengths, 1, false) &&
           has(DeltaNetOp::kDecays, 1, false);
  }

  // Whether an operand is a value of the pattern, which goes away.
  bool takes_its_own() const {
    return std::ranges::any_of(operands_, [&](int reg) {
      const PreparedOp* maker = graph_.producer(reg);
      return maker != nullptr && std::ranges::find(inner_, maker) != inner_.end();
    });
  }

  const FusionGraph& graph_;
  std::vector<PreparedOp*> reads_;  // of each token
  int stored_ = -1;                 // register of the state before the first token
  std::optional<ReplacedState> state_;
  std::array<int, DeltaNetOp::kInputs> operands_ = {};
  std::vector<PreparedOp*> inner_;
};

}  // namespace

std::optional<Fusion> match_delta_net(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "concat" && root.op->type != "matmul") return std::nullopt;
  return DeltaNetMatch(graph).match(root);
}

}  // namespace anemone::exec

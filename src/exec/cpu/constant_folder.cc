// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/constant_folder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "exec/cpu/op_call.h"

namespace anemone::exec {
namespace {

// Results of plain operations above this stay out of memory between runs. constexpr_* always fold:
// their result is no larger than the weight they stand for.
constexpr std::uint64_t kMaxFoldedBytes = 64 << 20;
// Operands up to this size are the same when their bytes are; larger ones when they lie at the same
// place.
constexpr std::uint64_t kMaxComparedBytes = 4096;

bool is_constexpr(const PreparedOp& op) {
  return op.op->type.starts_with("constexpr_");
}

struct Candidate {
  PreparedFunction* function = nullptr;
  PreparedOp* op = nullptr;
};

// One evaluation and everyone who wants its result.
struct Task {
  std::vector<Candidate> users;
  std::vector<Slot> results;
  Status status;
};

bool is_set(const Slot& slot) {
  return slot.view.data != nullptr || slot.text.has_value();
}

template <typename T>
void append_bytes(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string key_of(const PreparedOp& op, const Slots& slots) {
  std::string key = op.op->type + "\n";
  for (const Operand& operand : op.operands) {
    key.append(operand.name).append("=");
    for (const int index : operand.slots) {
      const Slot& slot = slots[static_cast<std::size_t>(index)];
      if (slot.text.has_value()) {
        append_bytes(key, slot.text->size());
        key.append(*slot.text);
        continue;
      }
      key += static_cast<char>(slot.view.dtype);
      append_bytes(key, slot.view.shape.size());
      for (const std::int64_t dimension : slot.view.shape) append_bytes(key, dimension);
      if (slot.view.size_bytes() <= kMaxComparedBytes)
        key.append(reinterpret_cast<const char*>(slot.view.data),
                   static_cast<std::size_t>(slot.view.size_bytes()));
      else
        append_bytes(key, slot.view.data);
    }
    key += '\n';
  }
  for (const ir::Value* output : op.op->outputs)
    key.append(ir::to_string(output->type)).append(";");
  return key;
}

class Folder {
 public:
  explicit Folder(ThreadPool& threads) : threads_(threads) {}

  Status run(const std::vector<std::unique_ptr<PreparedFunction>>& functions) {
    for (const auto& function : functions) {
      levels_of_slot_.assign(function->initial.size(), -1);
      for (std::size_t i = 0; i < function->initial.size(); ++i)
        if (is_set(function->initial[i])) levels_of_slot_[i] = 0;
      collect(*function, function->block);
    }
    for (auto& level : levels_) ANEMONE_RETURN_IF_ERROR(evaluate(level));
    for (const auto& function : functions) drop_folded(*function, function->block);
    return {};
  }

 private:
  // Sorts the operations into levels: those of one level do not need each other.
  void collect(PreparedFunction& function, PreparedBlock& block) {
    for (PreparedOp& op : block.ops) {
      for (PreparedBlock& inner : op.blocks) collect(function, inner);
      if (op.kind != PreparedOp::Kind::kKernel || op.schema->has_side_effects) continue;
      int level = 0;
      for (const Operand& operand : op.operands)
        for (const int slot : operand.slots) {
          const int known = levels_of_slot_[static_cast<std::size_t>(slot)];
          level = known < 0 || level < 0 ? -1 : std::max(level, known);
        }
      if (level < 0 || (!is_constexpr(op) && !is_small(op))) continue;
      for (const int slot : op.outputs) levels_of_slot_[static_cast<std::size_t>(slot)] = level + 1;
      if (levels_.size() <= static_cast<std::size_t>(level))
        levels_.resize(static_cast<std::size_t>(level) + 1);
      levels_[static_cast<std::size_t>(level)].push_back({&function, &op});
    }
  }

  static bool is_small(const PreparedOp& op) {
    std::uint64_t bytes = 0;
    for (const ir::Value* output : op.op->outputs) {
      if (!output->type.is_tensor() || !is_static(output->type.shape)) return false;
      const auto count = checked_element_count(output->type.shape);
      if (!count.ok()) return false;
      bytes += dtype_bytes(output->type.dtype, static_cast<std::uint64_t>(*count));
      if (bytes > kMaxFoldedBytes) return false;
    }
    return true;
  }

  Status evaluate(const std::vector<Candidate>& level) {
    std::vector<Task> tasks;
    std::unordered_map<std::string, std::size_t> task_of_key;
    for (const Candidate& candidate : level) {
      const Slots& slots = candidate.function->initial;
      // An operand is missing when the plain operation that makes it could not be folded after all.
      const bool is_ready = std::all_of(
          candidate.op->operands.begin(), candidate.op->operands.end(),
          [&](const Operand& operand) {
            return std::all_of(operand.slots.begin(), operand.slots.end(), [&](int slot) {
              return is_set(slots[static_cast<std::size_t>(slot)]);
            });
          });
      if (!is_ready) continue;
      const auto [it, is_new] = task_of_key.emplace(key_of(*candidate.op, slots), tasks.size());
      if (is_new) tasks.emplace_back();
      tasks[it->second].users.push_back(candidate);
    }
    threads_.parallel_for(
        static_cast<std::int64_t>(tasks.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          ThreadPool alone(1);
          for (std::int64_t i = begin; i < end; ++i) {
            Task& task = tasks[static_cast<std::size_t>(i)];
            const Candidate& first = task.users.front();
            task.status =
                call_kernel(*first.op, first.function->initial, Buffer::make, alone, task.results);
          }
        });
    for (Task& task : tasks) {
      if (!task.status.ok()) {
        if (is_constexpr(*task.users.front().op)) return task.status;
        continue;
      }
      for (const Candidate& user : task.users)
        for (std::size_t i = 0; i < task.results.size(); ++i)
          user.function->initial[static_cast<std::size_t>(user.op->outputs[i])] = task.results[i];
    }
    return {};
  }

  static void drop_folded(const PreparedFunction& function, PreparedBlock& block) {
    std::erase_if(block.ops, [&](const PreparedOp& op) {
      return op.kind == PreparedOp::Kind::kKernel && !op.outputs.empty() &&
             is_set(function.initial[static_cast<std::size_t>(op.outputs[0])]);
    });
    for (PreparedOp& op : block.ops)
      for (PreparedBlock& inner : op.blocks) drop_folded(function, inner);
  }

  ThreadPool& threads_;
  std::vector<int> levels_of_slot_;
  std::vector<std::vector<Candidate>> levels_;
};

}  // namespace

Status fold_constants(const std::vector<std::unique_ptr<PreparedFunction>>& functions,
                      ThreadPool& threads) {
  return Folder(threads).run(functions);
}

}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/constant_folder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

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
  bool is_lasting = false;  // whether it follows from constants of the program alone
};

// One evaluation and everyone who wants its result.
struct Task {
  std::string key;
  bool is_lasting = false;
  std::vector<Candidate> users;
  std::vector<Register> results;
  Status status;
};

template <typename T>
void append_bytes(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string key_of(const PreparedOp& op, const PreparedFunction& function) {
  const Registers& registers = function.initial;
  std::string key = op.op->type + "\n";
  for (const Operand& operand : op.operands) {
    key.append(operand.name).append("=");
    for (const int index : operand.registers) {
      const Register& reg = registers[static_cast<std::size_t>(index)];
      if (reg.text.has_value()) {
        append_bytes(key, reg.text->size());
        key.append(*reg.text);
        continue;
      }
      key += static_cast<char>(reg.view.dtype);
      append_bytes(key, reg.view.shape.size());
      for (const std::int64_t dimension : reg.view.shape) append_bytes(key, dimension);
      if (reg.view.size_bytes() <= kMaxComparedBytes)
        key.append(reinterpret_cast<const char*>(reg.view.data),
                   static_cast<std::size_t>(reg.view.size_bytes()));
      else
        append_bytes(key, reg.view.data);
    }
    key += '\n';
  }
  for (const int reg : op.outputs) key.append(ir::to_string(function.type(reg))).append(";");
  return key;
}

void remove_known_from(const PreparedFunction& function, PreparedBlock& block) {
  std::erase_if(block.ops, [&](const PreparedOp& op) {
    return op.kind == PreparedOp::Kind::kKernel && !op.outputs.empty() &&
           is_known(function, op.outputs[0]);
  });
  for (PreparedOp& op : block.ops)
    for (PreparedBlock& inner : op.blocks) remove_known_from(function, inner);
}

class Folder {
 public:
  using Kept = std::unordered_map<std::string, std::vector<Register>>;
  Folder(Kept& kept, const std::shared_ptr<MemoryLimit>& limit, ThreadPool& threads)
      : kept_(kept), allocate_(separate_buffers(limit)), threads_(threads) {}

  Status run(const std::vector<PreparedFunction*>& functions) {
    for (PreparedFunction* function : functions) {
      registers_.assign(function->initial.size(), {});
      for (std::size_t i = 0; i < function->initial.size(); ++i)
        if (is_known(*function, static_cast<int>(i)))
          registers_[i] = {0, !function->is_shape_dependent[i]};
      collect(*function, function->block);
    }
    for (auto& level : levels_) ANEMONE_RETURN_IF_ERROR(evaluate(level));
    return {};
  }

 private:
  struct Known {
    int level = -1;  // not known
    bool is_lasting = false;
  };

  // Sorts the operations into levels: those of one level do not need each other.
  void collect(PreparedFunction& function, PreparedBlock& block) {
    for (PreparedOp& op : block.ops) {
      for (PreparedBlock& inner : op.blocks) collect(function, inner);
      if (op.kind != PreparedOp::Kind::kKernel || op.schema->has_side_effects) continue;
      int level = 0;
      bool is_lasting = true;
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers) {
          const Known& known = registers_[static_cast<std::size_t>(reg)];
          level = known.level < 0 || level < 0 ? -1 : std::max(level, known.level);
          is_lasting = is_lasting && known.is_lasting;
        }
      if (level < 0 || (!is_constexpr(op) && !is_small(function, op))) continue;
      for (const int reg : op.outputs)
        registers_[static_cast<std::size_t>(reg)] = {level + 1, is_lasting};
      if (levels_.size() <= static_cast<std::size_t>(level))
        levels_.resize(static_cast<std::size_t>(level) + 1);
      levels_[static_cast<std::size_t>(level)].push_back({&function, &op, is_lasting});
    }
  }

  static bool is_small(const PreparedFunction& function, const PreparedOp& op) {
    std::uint64_t bytes = 0;
    for (const int reg : op.outputs) {
      const ir::Type& type = function.type(reg);
      if (!type.is_tensor() || !is_static(type.shape)) return false;
      const auto count = checked_element_count(type.shape);
      if (!count.ok()) return false;
      bytes += dtype_bytes(type.dtype, static_cast<std::uint64_t>(*count));
      if (bytes > kMaxFoldedBytes) return false;
    }
    return true;
  }

  Status evaluate(const std::vector<Candidate>& level) {
    std::vector<Task> tasks;
    std::unordered_map<std::string, std::size_t> task_of_key;
    for (const Candidate& candidate : level) {
      PreparedFunction& function = *candidate.function;
      // An operand is missing when the plain operation that makes it could not be folded after all.
      const bool is_ready =
          std::all_of(candidate.op->operands.begin(), candidate.op->operands.end(),
                      [&](const Operand& operand) {
                        return std::all_of(operand.registers.begin(), operand.registers.end(),
                                           [&](int reg) { return is_known(function, reg); });
                      });
      if (!is_ready) continue;
      std::string key = key_of(*candidate.op, function);
      if (candidate.is_lasting)
        if (const auto kept = kept_.find(key); kept != kept_.end()) {
          set(candidate, kept->second);
          continue;
        }
      const auto [it, is_new] = task_of_key.emplace(std::move(key), tasks.size());
      if (is_new) tasks.emplace_back().key = it->first;
      Task& task = tasks[it->second];
      task.is_lasting |= candidate.is_lasting;
      task.users.push_back(candidate);
    }
    threads_.parallel_for(
        static_cast<std::int64_t>(tasks.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          ThreadPool alone(1);
          for (std::int64_t i = begin; i < end; ++i) {
            Task& task = tasks[static_cast<std::size_t>(i)];
            const Candidate& first = task.users.front();
            task.status = call_kernel(*first.op, first.function->types, first.function->initial,
                                      allocate_, alone, task.results);
          }
        });
    for (Task& task : tasks) {
      if (!task.status.ok()) {
        if (is_constexpr(*task.users.front().op)) return task.status;
        continue;
      }
      for (const Candidate& user : task.users) set(user, task.results);
      if (task.is_lasting) kept_.emplace(std::move(task.key), std::move(task.results));
    }
    return {};
  }

  static void set(const Candidate& user, const std::vector<Register>& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      user.function->initial[static_cast<std::size_t>(user.op->outputs[i])] = results[i];
  }

  Kept& kept_;
  const Allocate allocate_;
  ThreadPool& threads_;
  std::vector<Known> registers_;  // of the function that is being folded
  std::vector<std::vector<Candidate>> levels_;
};

}  // namespace

bool is_known(const PreparedFunction& function, int reg) {
  const Register& value = function.initial[static_cast<std::size_t>(reg)];
  return value.view.data != nullptr || value.text.has_value();
}

void remove_known_operations(PreparedFunction& function) {
  remove_known_from(function, function.block);
}

Status ConstantFolder::fold(const std::vector<PreparedFunction*>& functions, ThreadPool& threads) {
  const std::lock_guard lock(mutex_);
  ANEMONE_RETURN_IF_ERROR(Folder(kept_, limit_, threads).run(functions));
  for (PreparedFunction* function : functions) remove_known_operations(*function);
  return {};
}

}  // namespace anemone::exec

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/op_schema.h"
#include "ir/program.h"

namespace anemone::ir {

// Writes one function: each call appends an operation, infers its types and returns its value.
// Spells out every defaulted parameter, because Core ML's device parser asks for them. The first
// error is kept and everything after it is a no-op that returns nullptr, so graph code reads
// straight and checks once:
//
//   Builder b(program, registry, "decode", Opset::kIOS18);
//   Value* x = b.input("hidden", Type::tensor(DType::kFp16, {1, 64, 1, 1}));
//   Value* y = b.op("relu", {{"x", x}}, "activated");
//   ANEMONE_RETURN_IF_ERROR(b.finish({y}));
//
// Single-thread. Holds pointers into `program`, which must outlive it.
class Builder {
 public:
  // One parameter: a value, several values, or a literal (which becomes a const operation).
  struct Input {
    std::string_view parameter;
    std::variant<Value*, std::vector<Value*>, Literal> argument;
  };

  Builder(Program& program, const OpRegistry& registry, std::string function, Opset opset);

  // A function input: tensor or state.
  Value* input(std::string name, Type type);
  // A const operation. Literals with the same Data object stay one blob in the package.
  Value* constant(Literal literal, std::string_view name);
  // The (first) output of a new operation. `name` is made unique by a number when taken.
  Value* op(std::string_view type, std::vector<Input> inputs, std::string_view name = "");
  // All outputs, for operations with several (split, topk); empty after an error.
  std::vector<Value*> ops(std::string_view type, std::vector<Input> inputs, std::size_t outputs,
                          std::string_view name = "");
  // A constexpr operation of iOS18: parameters are bound in place to literals.
  Value* constexpr_op(std::string_view type,
                      std::vector<std::pair<std::string_view, Literal>> inputs,
                      std::string_view name);
  // read_state(state), and write_state(state, data) at this point of the program.
  Value* read_state(Value* state, std::string_view name);
  void write_state(Value* state, Value* data, std::string_view name);
  // Gives a value its final name, e.g. the name of a function output.
  void rename(Value* value, std::string name);

  // The first error so far, if any. An error in graph code itself can be reported through fail().
  const Status& status() const { return status_; }
  void fail(Status status);
  // Ends the function with these outputs. Returns the first error.
  Status finish(std::vector<Value*> outputs);

  Function& function() { return *function_; }

 private:
  std::string unique_name(std::string_view wanted);
  std::vector<Value*> append(Op* op, std::size_t outputs, std::string_view name);

  Program& program_;
  const OpRegistry& registry_;
  Function* function_;
  std::unordered_set<std::string> names_;
  // The last number that unique_name() added to a name that was taken.
  std::unordered_map<std::string, int> last_number_;
  Status status_;
};

}  // namespace anemone::ir

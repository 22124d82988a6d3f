// SPDX-License-Identifier: Apache-2.0
// MIL in memory, shaped like Core ML's protobuf: a program has functions, a function has one block,
// a block has operations in topological order, an operation binds parameters by name and defines
// values. All nodes live in the Program's arena and are handed round as raw pointers; they die
// together. Not thread-safe while it is changed; const access from several threads is fine.
#pragma once

#include <anemone/status.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/literal.h"
#include "ir/opset.h"
#include "ir/type.h"

namespace anemone::ir {

// How deep blocks may nest, in text, in packages and in lawful programs.
inline constexpr int kMaxBlockDepth = 32;

class Op;
class Block;
class Function;

// A named SSA value: a function input, a block input, or an output of an operation.
struct Value {
  std::string name;
  Type type;
  Op* producer = nullptr;  // null for inputs of functions and blocks
};

// What a parameter is bound to: a value, or (constexpr operations of iOS18) a literal in place.
using Argument = std::variant<Value*, Literal>;
// Most parameters have one argument; `values` of concat and the like have several.
using Arguments = std::vector<Argument>;

class Op {
 public:
  std::string type;  // "conv"
  std::string name;  // the `name` attribute; unique only by convention
  std::map<std::string, Arguments, std::less<>> inputs;
  // The attributes but `name`: `val` of a const; parameters of constexpr operations up to iOS17.
  std::map<std::string, Literal, std::less<>> attributes;
  std::vector<Value*> outputs;
  std::vector<Block*> blocks;  // cond: {true, false}; while_loop: {condition, body}

  bool is_const() const { return type == "const"; }
  // First argument of a parameter if it is a value; nullptr when absent or a literal.
  Value* input(std::string_view parameter) const;
};

class Block {
 public:
  std::vector<Value*> inputs;  // loop variables; empty for the block of a function
  std::vector<Value*> outputs;
  std::vector<Op*> ops;
};

class Function {
 public:
  std::string name;
  Opset opset = Opset::kIOS18;
  std::vector<Value*> inputs;  // tensors and states, in order
  Block* block = nullptr;
};

class Program {
 public:
  Program() = default;
  Program(Program&&) = default;
  Program& operator=(Program&&) = default;

  std::int64_t version = 1;
  // Core ML's loader allows `buildInfo` (dictionary of strings) alone.
  std::map<std::string, Literal, std::less<>> attributes;

  // New nodes, owned by this program.
  Function* add_function(std::string name, Opset opset);
  Block* add_block();
  Op* add_op();
  Value* add_value(std::string name, Type type, Op* producer = nullptr);

  // The functions in order of creation.
  const std::vector<Function*>& functions() const { return functions_; }
  Function* function(std::string_view name) const;  // nullptr when absent

 private:
  std::vector<Function*> functions_;
  std::deque<Function> function_arena_;
  std::deque<Block> block_arena_;
  std::deque<Op> op_arena_;
  std::deque<Value> value_arena_;
};

// The literal behind a value made by a `const` operation; nullptr otherwise.
const Literal* constant_of(const Value* value);
// The literal of an argument: in place, or through a `const`.
const Literal* constant_of(const Argument& argument);

// MIL identifier rule: [A-Za-z_][A-Za-z0-9_@]*.
bool is_identifier(std::string_view name);
// Makes an identifier from any text: other characters become '_', reserved words of MIL get
// "_workaround".
std::string sanitize_identifier(std::string_view name);

// First difference between two programs in words ("function decode, operation 12: type conv against
// linear"), or empty when they are the same: structure, names, types and the content of all
// constants.
Result<std::string> first_difference(const Program& a, const Program& b);

}  // namespace anemone::ir

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/name_index.h"
#include "mlpackage/program_codec.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/type_codec.h"

namespace anemone::mlpackage {
namespace {

// Entries of a map must not repeat a key; on the wire they can.
template <typename Entries>
const std::string* repeated_key(const Entries& entries) {
  std::vector<const std::string*> keys;
  for (const auto& entry : entries) keys.push_back(&entry.key());
  const auto less = [](const auto* a, const auto* b) { return *a < *b; };
  std::sort(keys.begin(), keys.end(), less);
  const auto it = std::adjacent_find(keys.begin(), keys.end(),
                                     [](const auto* a, const auto* b) { return *a == *b; });
  return it == keys.end() ? nullptr : *it;
}

class FunctionDecoder {
 public:
  FunctionDecoder(ir::Program& program, BlobCache& blobs) : program_(program), blobs_(blobs) {}

  Status run(const wire::Function& function, const std::string& name) {
    const auto opset = ir::parse_opset_string(function.opset());
    if (!opset)
      return version_mismatch("expected an opset from CoreML5 to CoreML9, got \"{}\"",
                              function.opset());
    if (function.attributes_size() > 0)
      return unsupported("expected a function without attributes, got \"{}\"",
                         function.attributes(0).key());
    if (function.block_specializations_size() != 1 ||
        function.block_specializations(0).key() != function.opset())
      return corrupt("expected one block, for opset {}, got {}", function.opset(),
                     function.block_specializations_size() == 1
                         ? "one for " + function.block_specializations(0).key()
                         : std::to_string(function.block_specializations_size()));
    ir::Function* out = program_.add_function(name, *opset);
    scopes_.emplace_back();
    for (const wire::NamedValueType& input : function.inputs()) {
      ANEMONE_ASSIGN_OR_RETURN(ir::Value * value, define(input, nullptr));
      out->inputs.push_back(value);
    }
    return block(function.block_specializations(0).value(), *out->block, 0);
  }

 private:
  Status block(const wire::Block& block, ir::Block& out, int depth) {
    if (depth >= ir::kMaxBlockDepth)
      return corrupt("expected blocks nested at most {} deep, got more", ir::kMaxBlockDepth);
    if (block.attributes_size() > 0)
      return unsupported("expected a block without attributes, got \"{}\"",
                         block.attributes(0).key());
    for (const wire::NamedValueType& input : block.inputs()) {
      ANEMONE_ASSIGN_OR_RETURN(ir::Value * value, define(input, nullptr));
      out.inputs.push_back(value);
    }
    for (const wire::Operation& operation : block.operations()) {
      ir::Op* op = program_.add_op();
      out.ops.push_back(op);
      if (Status status = this->operation(operation, *op, depth); !status.ok())
        return status.with(
            fmt::format("operation {}, {} \"{}\"", out.ops.size() - 1, op->type, op->name));
    }
    for (const std::string& name : block.outputs()) out.outputs.push_back(lookup(name));
    return {};
  }

  Status operation(const wire::Operation& operation, ir::Op& out, int depth) {
    out.type = operation.type();
    if (const std::string* key = repeated_key(operation.attributes()))
      return corrupt("expected each attribute once, got \"{}\" twice", *key);
    if (const std::string* key = repeated_key(operation.inputs()))
      return corrupt("expected each parameter once, got \"{}\" twice", *key);
    for (const wire::ValueEntry& attribute : operation.attributes()) {
      auto literal = decode_value(attribute.value(), blobs_);
      if (!literal.ok()) return literal.status().with("attribute " + attribute.key());
      if (attribute.key() == "name" && literal->as_text()) {
        out.name = *literal->as_text();
      } else {
        out.attributes.emplace(attribute.key(), std::move(*literal));
      }
    }
    for (const wire::ArgumentEntry& input : operation.inputs()) {
      ir::Arguments& arguments = out.inputs[input.key()];
      for (const wire::Binding& binding : input.value().arguments()) {
        if (binding.has_name()) {
          arguments.emplace_back(lookup(binding.name()));
        } else if (binding.has_value()) {
          auto literal = decode_value(binding.value(), blobs_);
          if (!literal.ok()) return literal.status().with("parameter " + input.key());
          arguments.emplace_back(std::move(*literal));
        } else {
          return corrupt("expected parameter \"{}\" to be bound to a name or a value, got neither",
                         input.key());
        }
      }
    }
    for (const wire::Block& inner : operation.blocks()) {
      ir::Block* child = program_.add_block();
      out.blocks.push_back(child);
      scopes_.emplace_back();
      ANEMONE_RETURN_IF_ERROR(block(inner, *child, depth + 1));
      scopes_.pop_back();
    }
    for (const wire::NamedValueType& output : operation.outputs()) {
      ANEMONE_ASSIGN_OR_RETURN(ir::Value * value, define(output, &out));
      out.outputs.push_back(value);
    }
    return {};
  }

  Result<ir::Value*> define(const wire::NamedValueType& named, ir::Op* producer) {
    auto type = decode_type(named.type());
    if (!type.ok()) return type.status().with("type of " + named.name());
    ir::Value* value = nullptr;
    if (const auto it = undefined_.find(named.name()); it != undefined_.end()) {
      // Used before: the use must point at this value, so that the verifier can tell it was too
      // early.
      value = it->second;
      value->type = std::move(*type);
      value->producer = producer;
      undefined_.erase(it);
    } else {
      value = program_.add_value(named.name(), std::move(*type), producer);
    }
    scopes_.back().insert_or_assign(named.name(), value);
    return value;
  }

  ir::Value* lookup(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto it = scope->find(name); it != scope->end()) return it->second;
    ir::Value*& value = undefined_[name];
    if (value == nullptr) value = program_.add_value(name, ir::Type());
    return value;
  }

  ir::Program& program_;
  BlobCache& blobs_;
  std::vector<std::unordered_map<std::string, ir::Value*>> scopes_;
  std::unordered_map<std::string, ir::Value*> undefined_;
};

}  // namespace

Result<ir::Program> decode_program(const wire::Program& program,
                                   const std::vector<std::string>& function_names,
                                   BlobCache& blobs) {
  ir::Program out;
  if (program.version() != 1)
    return version_mismatch("expected program version 1, got {}", program.version());
  out.version = program.version();
  if (const std::string* key = repeated_key(program.attributes()))
    return corrupt("expected each program attribute once, got \"{}\" twice", *key);
  for (const wire::ValueEntry& attribute : program.attributes()) {
    auto literal = decode_value(attribute.value(), blobs);
    if (!literal.ok()) return literal.status().with("program attribute " + attribute.key());
    out.attributes.emplace(attribute.key(), std::move(*literal));
  }
  if (const std::string* key = repeated_key(program.functions()))
    return corrupt("expected each function once, got \"{}\" twice", *key);
  const NameIndex described(function_names);
  std::unordered_map<std::string_view, const wire::FunctionEntry*> entries;
  for (const wire::FunctionEntry& entry : program.functions()) {
    if (described.find(entry.key()) == nullptr)
      return corrupt("expected the description to name every function, \"{}\" is not in it",
                     entry.key());
    entries.emplace(entry.key(), &entry);
  }
  for (const std::string& name : function_names) {
    const auto entry = entries.find(name);
    if (entry == entries.end())
      return corrupt("expected the program to hold the function \"{}\", got none", name);
    FunctionDecoder decoder(out, blobs);
    ANEMONE_RETURN_IF_ERROR(decoder.run(entry->second->value(), name).with("function " + name));
  }
  return out;
}

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "mlpackage/program_codec.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/type_codec.h"

namespace anemone::mlpackage {
namespace {

void encode_named(const ir::Value& value, wire::NamedValueType& out) {
  out.set_name(value.name);
  encode_type(value.type, *out.mutable_type());
}

// Entries are written in the order of the IR's maps, which is sorted: the bytes follow from the
// content.
class Encoder {
 public:
  explicit Encoder(const BlobOffset& blob_offset) : blob_offset_(blob_offset) {}

  Status program(const ir::Program& program, wire::Program& out) {
    out.set_version(program.version);
    std::vector<const ir::Function*> functions(program.functions().begin(),
                                               program.functions().end());
    std::sort(functions.begin(), functions.end(),
              [](const ir::Function* a, const ir::Function* b) { return a->name < b->name; });
    for (const ir::Function* function : functions) {
      auto* entry = out.add_functions();
      entry->set_key(function->name);
      ANEMONE_RETURN_IF_ERROR(
          this->function(*function, *entry->mutable_value()).with("function " + function->name));
    }
    for (const auto& [name, literal] : program.attributes) {
      auto* entry = out.add_attributes();
      entry->set_key(name);
      ANEMONE_RETURN_IF_ERROR(encode_value(literal, blob_offset_, *entry->mutable_value()));
    }
    return {};
  }

 private:
  Status function(const ir::Function& function, wire::Function& out) {
    for (const ir::Value* input : function.inputs) encode_named(*input, *out.add_inputs());
    const std::string opset(ir::opset_string(function.opset));
    out.set_opset(opset);
    auto* entry = out.add_block_specializations();
    entry->set_key(opset);
    return block(*function.block, *entry->mutable_value());
  }

  Status block(const ir::Block& block, wire::Block& out) {
    for (const ir::Value* input : block.inputs) encode_named(*input, *out.add_inputs());
    for (const ir::Op* op : block.ops)
      ANEMONE_RETURN_IF_ERROR(
          operation(*op, *out.add_operations()).with(op->type + " \"" + op->name + "\""));
    for (const ir::Value* output : block.outputs) out.add_outputs(output->name);
    return {};
  }

  Status operation(const ir::Op& op, wire::Operation& out) {
    out.set_type(op.type);
    for (const auto& [parameter, arguments] : op.inputs) {
      auto* entry = out.add_inputs();
      entry->set_key(parameter);
      for (const ir::Argument& argument : arguments) {
        auto* binding = entry->mutable_value()->add_arguments();
        if (const auto* value = std::get_if<ir::Value*>(&argument)) {
          binding->set_name((*value)->name);
        } else {
          ANEMONE_RETURN_IF_ERROR(encode_value(std::get<ir::Literal>(argument), blob_offset_,
                                               *binding->mutable_value()));
        }
      }
    }
    for (const ir::Value* output : op.outputs) encode_named(*output, *out.add_outputs());
    for (const ir::Block* inner : op.blocks)
      ANEMONE_RETURN_IF_ERROR(block(*inner, *out.add_blocks()));
    // "name" takes its place in the sorted order of the attributes.
    const ir::Literal name = ir::Literal::text(op.name);
    bool is_named = false;
    const auto add = [&](const std::string& key, const ir::Literal& literal) {
      auto* entry = out.add_attributes();
      entry->set_key(key);
      return encode_value(literal, blob_offset_, *entry->mutable_value());
    };
    for (const auto& [key, literal] : op.attributes) {
      if (!is_named && key > "name") {
        ANEMONE_RETURN_IF_ERROR(add("name", name));
        is_named = true;
      }
      ANEMONE_RETURN_IF_ERROR(add(key, literal));
    }
    return is_named ? Status() : add("name", name);
  }

  const BlobOffset& blob_offset_;
};

}  // namespace

Status encode_program(const ir::Program& program, const BlobOffset& blob_offset,
                      wire::Program& out) {
  return Encoder(blob_offset).program(program, out);
}

}  // namespace anemone::mlpackage

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ir/program.h"

namespace anemone::ir {
namespace {

// Compares node by node in program order; values are the same when their names and types are.
class Comparison {
 public:
  Result<std::string> programs(const Program& a, const Program& b) {
    if (a.version != b.version)
      return fmt::format("program version {} against {}", a.version, b.version);
    ANEMONE_ASSIGN_OR_RETURN(std::string text, literals(a.attributes, b.attributes));
    if (!text.empty()) return "program: " + text;
    if (a.functions().size() != b.functions().size())
      return fmt::format("{} functions against {}", a.functions().size(), b.functions().size());
    for (const Function* left : a.functions()) {
      const Function* right = b.function(left->name);
      if (right == nullptr) return fmt::format("function {} is missing", left->name);
      ANEMONE_ASSIGN_OR_RETURN(text, functions(*left, *right));
      if (!text.empty()) return fmt::format("function {}: {}", left->name, text);
    }
    return std::string();
  }

 private:
  Result<std::string> functions(const Function& a, const Function& b) {
    if (a.opset != b.opset)
      return fmt::format("opset {} against {}", opset_string(a.opset), opset_string(b.opset));
    if (std::string text = values(a.inputs, b.inputs); !text.empty()) return "inputs: " + text;
    return blocks(*a.block, *b.block);
  }

  Result<std::string> blocks(const Block& a, const Block& b) {
    if (std::string text = values(a.inputs, b.inputs); !text.empty())
      return "block inputs: " + text;
    if (a.ops.size() != b.ops.size())
      return fmt::format("{} operations against {}", a.ops.size(), b.ops.size());
    for (std::size_t i = 0; i < a.ops.size(); ++i) {
      ANEMONE_ASSIGN_OR_RETURN(const std::string text, ops(*a.ops[i], *b.ops[i]));
      if (!text.empty()) return fmt::format("operation {} ({}): {}", i, a.ops[i]->name, text);
    }
    if (std::string text = values(a.outputs, b.outputs); !text.empty()) return "outputs: " + text;
    return std::string();
  }

  Result<std::string> ops(const Op& a, const Op& b) {
    if (a.type != b.type) return fmt::format("type {} against {}", a.type, b.type);
    if (a.name != b.name) return fmt::format("name {} against {}", a.name, b.name);
    if (std::string text = values(a.outputs, b.outputs); !text.empty()) return "outputs: " + text;
    ANEMONE_ASSIGN_OR_RETURN(std::string text, literals(a.attributes, b.attributes));
    if (!text.empty()) return text;
    if (a.inputs.size() != b.inputs.size())
      return fmt::format("{} parameters against {}", a.inputs.size(), b.inputs.size());
    for (const auto& [parameter, left] : a.inputs) {
      const auto right = b.inputs.find(parameter);
      if (right == b.inputs.end()) return fmt::format("parameter {} is missing", parameter);
      if (left.size() != right->second.size())
        return fmt::format("parameter {}: {} arguments against {}", parameter, left.size(),
                           right->second.size());
      for (std::size_t i = 0; i < left.size(); ++i) {
        ANEMONE_ASSIGN_OR_RETURN(const bool same, arguments(left[i], right->second[i]));
        if (!same) return fmt::format("parameter {}: argument {} differs", parameter, i);
      }
    }
    if (a.blocks.size() != b.blocks.size())
      return fmt::format("{} blocks against {}", a.blocks.size(), b.blocks.size());
    for (std::size_t i = 0; i < a.blocks.size(); ++i) {
      ANEMONE_ASSIGN_OR_RETURN(text, blocks(*a.blocks[i], *b.blocks[i]));
      if (!text.empty()) return fmt::format("block {}: {}", i, text);
    }
    return std::string();
  }

  Result<bool> arguments(const Argument& a, const Argument& b) {
    if (a.index() != b.index()) return false;
    if (const auto* value = std::get_if<Value*>(&a))
      return (*value)->name == std::get<Value*>(b)->name;
    return equal(std::get<Literal>(a), std::get<Literal>(b));
  }

  Result<std::string> literals(const std::map<std::string, Literal, std::less<>>& a,
                               const std::map<std::string, Literal, std::less<>>& b) {
    if (a.size() != b.size()) return fmt::format("{} attributes against {}", a.size(), b.size());
    for (const auto& [name, left] : a) {
      const auto right = b.find(name);
      if (right == b.end()) return fmt::format("attribute {} is missing", name);
      ANEMONE_ASSIGN_OR_RETURN(const bool same, equal(left, right->second));
      if (!same) return fmt::format("attribute {} differs", name);
    }
    return std::string();
  }

  std::string values(const std::vector<Value*>& a, const std::vector<Value*>& b) {
    if (a.size() != b.size()) return fmt::format("{} values against {}", a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i]->name != b[i]->name) return fmt::format("{} against {}", a[i]->name, b[i]->name);
      if (a[i]->type != b[i]->type)
        return fmt::format("{}: {} against {}", a[i]->name, to_string(a[i]->type),
                           to_string(b[i]->type));
    }
    return {};
  }
};

}  // namespace

Result<std::string> first_difference(const Program& a, const Program& b) {
  return Comparison().programs(a, b);
}

}  // namespace anemone::ir

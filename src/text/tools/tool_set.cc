// SPDX-License-Identifier: Apache-2.0
#include "text/tools/tool_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace anemone::text {

std::vector<std::string> schema_types(const Json& schema) {
  std::vector<std::string> out;
  const Json* type = json_member(schema, "type");
  if (type != nullptr && type->is_string()) out.push_back(type->get<std::string>());
  if (type != nullptr && type->is_array()) {
    for (const Json& item : *type)
      if (item.is_string()) out.push_back(item.get<std::string>());
  }
  const Json* values = json_member(schema, "enum");
  const bool is_text = type == nullptr && values != nullptr && values->is_array() &&
                       std::ranges::all_of(*values, [](const Json& v) { return v.is_string(); });
  if (is_text) out.emplace_back("string");
  return out;
}

ToolSet::ToolSet(std::vector<ToolFunction> functions) : functions_(std::move(functions)) {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    Entry& entry = entries_[functions_[i].name];
    entry.index = i;
    const Json* properties = json_member(*functions_[i].parameters, "properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [name, schema] : properties->items()) entry.types[name] = schema_types(schema);
  }
}

const ToolFunction* ToolSet::find(std::string_view name) const {
  const auto found = entries_.find(std::string(name));
  return found == entries_.end() ? nullptr : &functions_[found->second.index];
}

const std::vector<std::string>& ToolSet::types_of(std::string_view function,
                                                  std::string_view parameter) const {
  static const std::vector<std::string> kNone;
  const auto entry = entries_.find(std::string(function));
  if (entry == entries_.end()) return kNone;
  const auto found = entry->second.types.find(std::string(parameter));
  return found == entry->second.types.end() ? kNone : found->second;
}

}  // namespace anemone::text

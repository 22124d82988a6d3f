// SPDX-License-Identifier: Apache-2.0
#include "text/tools/tool_set.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_bytes.h"
#include "text/tools/schema_types.h"

namespace anemone::text {
namespace {

// An entry of a table, without the bytes of its name.
constexpr std::size_t kEntryBytes = 128;

std::size_t names_bytes(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += sizeof(text) + text.size();
  return bytes;
}

}  // namespace

ToolSet::ToolSet(std::vector<ToolFunction> functions) : functions_(std::move(functions)) {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    Entry& entry = entries_[functions_[i].name];
    entry.index = i;
    const Json& schema = functions_[i].parameters();
    byte_size_ += sizeof(ToolFunction) + kEntryBytes + 2 * functions_[i].name.size();
    byte_size_ += json_bytes(schema);
    const Json* properties = json_member(schema, "properties");
    if (properties == nullptr || !properties->is_object()) continue;
    std::size_t steps_left = SchemaTypes::kMaxSteps;
    SchemaTypes types(schema, steps_left);
    for (const auto& [name, part] : properties->items()) {
      const auto& found = entry.types[name] = types.types_of(part);
      byte_size_ += kEntryBytes + name.size() + names_bytes(found);
    }
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

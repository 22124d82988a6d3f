// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace anemone::text {

// A function that a model may call.
struct ToolFunction {
  std::string name;
  JsonDocument parameters;  // the JSON schema of its arguments: an object
  bool is_strict = false;   // its arguments are to be valid wherever it is called
};

// The functions of a request, by name. Immutable and thread-safe.
class ToolSet {
 public:
  ToolSet() = default;
  // The names differ.
  explicit ToolSet(std::vector<ToolFunction> functions);

  const std::vector<ToolFunction>& functions() const { return functions_; }
  const ToolFunction* find(std::string_view name) const;
  // The JSON types that the schema of a function names for one of its parameters; empty where it
  // says nothing, or the function or the parameter is unknown. Takes constant time, since it is
  // asked while an answer is made.
  const std::vector<std::string>& types_of(std::string_view function,
                                           std::string_view parameter) const;

 private:
  struct Entry {
    std::size_t index = 0;                                            // in functions_
    std::unordered_map<std::string, std::vector<std::string>> types;  // by parameter
  };

  std::vector<ToolFunction> functions_;
  std::unordered_map<std::string, Entry> entries_;
};

// The types that a schema names; texts alone where all values that it lists are texts.
std::vector<std::string> schema_types(const Json& schema);

}  // namespace anemone::text

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace anemone::text {

// A function that a model may call. Copies share the schema, which may be large.
class ToolFunction {
 public:
  // `parameters` is the JSON schema of its arguments: an object.
  ToolFunction(std::string function_name, JsonDocument parameters, bool strict = false)
      : name(std::move(function_name)),
        is_strict(strict),
        parameters_(std::make_shared<const JsonDocument>(std::move(parameters))) {}

  const Json& parameters() const { return **parameters_; }

  std::string name;
  bool is_strict;  // its arguments are to be valid wherever it is called

 private:
  std::shared_ptr<const JsonDocument> parameters_;
};

// The functions of a request, by name. Immutable and thread-safe.
class ToolSet {
 public:
  ToolSet() = default;
  // The names differ.
  explicit ToolSet(std::vector<ToolFunction> functions);

  const std::vector<ToolFunction>& functions() const { return functions_; }
  const ToolFunction* find(std::string_view name) const;
  // The JSON types that the schema of a function allows for one of its parameters, as far as
  // SchemaTypes reads them; empty where it allows any, or the function or the parameter is unknown.
  // Takes constant time, since it is asked while an answer is made.
  const std::vector<std::string>& types_of(std::string_view function,
                                           std::string_view parameter) const;
  // About how much memory it takes, with the schemas.
  std::size_t byte_size() const { return byte_size_; }

 private:
  struct Entry {
    std::size_t index = 0;                                            // in functions_
    std::unordered_map<std::string, std::vector<std::string>> types;  // by parameter
  };

  std::vector<ToolFunction> functions_;
  std::unordered_map<std::string, Entry> entries_;
  std::size_t byte_size_ = 0;
};

}  // namespace anemone::text

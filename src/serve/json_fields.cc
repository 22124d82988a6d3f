// SPDX-License-Identifier: Apache-2.0
#include "serve/json_fields.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace anemone::serve {

std::string describe_json(const Json& value) {
  constexpr std::size_t kMaxShown = 40;
  if (value.is_number() || value.is_boolean()) return dump_json(value);
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.size() <= kMaxShown ? dump_json(value) : "a long string";
  }
  if (value.is_null()) return "null";
  return value.is_array() ? "a list" : "an object";
}

JsonFields::JsonFields(Json& object) : object_(object) {
  if (!object.is_object())
    status_ = invalid_argument("[request] expected a JSON object, got {}", describe_json(object));
  else if (object.size() > kMaxFields)
    status_ =
        invalid_argument("[request] expected at most {} fields, got {}", kMaxFields, object.size());
}

void JsonFields::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Json* JsonFields::member(std::string_view key) {
  return status_.ok() ? json_member(object_, key) : nullptr;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key, std::int64_t low,
                                                std::int64_t high) {
  const Json* value = member(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() &&
                      value->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = fits ? value->get<std::int64_t>() : 0;
  if (fits && number >= low && number <= high) return number;
  if (high == std::numeric_limits<std::int64_t>::max())
    fail(invalid_argument("[{}] expected an integer from {}, got {}", key, low,
                          describe_json(*value)));
  else
    fail(invalid_argument("[{}] expected an integer from {} to {}, got {}", key, low, high,
                          describe_json(*value)));
  return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view key, double low, double high) {
  const Json* value = member(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (number >= low && number <= high) return number;
  fail(invalid_argument("[{}] expected a number from {} to {}, got {}", key, low, high,
                        describe_json(*value)));
  return std::nullopt;
}

std::optional<bool> JsonFields::boolean(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail(invalid_argument("[{}] expected true or false, got {}", key, describe_json(*value)));
  return std::nullopt;
}

std::optional<std::string> JsonFields::string(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail(invalid_argument("[{}] expected a string, got {}", key, describe_json(*value)));
  return std::nullopt;
}

std::vector<std::string> JsonFields::strings(std::string_view key, std::size_t most) {
  const Json* value = member(key);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> out;
  bool is_good = value->is_array() && value->size() <= most;
  if (is_good)
    for (const Json& item : *value) {
      is_good = is_good && item.is_string();
      if (is_good) out.push_back(item.get<std::string>());
    }
  if (is_good) return out;
  fail(invalid_argument("[{}] expected a string or a list of at most {} strings, got {}", key, most,
                        value->is_array() ? "another list" : describe_json(*value)));
  return {};
}

std::optional<std::vector<std::int32_t>> JsonFields::ids(std::string_view key) {
  const Json* value = member(key);
  if (value == nullptr) return std::nullopt;
  auto out = ids_of(*value);
  if (!out)
    fail(invalid_argument("[{}] expected a list of token ids, got {}", key,
                          value->is_array() ? "another list" : describe_json(*value)));
  return out;
}

std::optional<std::vector<std::int32_t>> ids_of(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<std::int32_t> out;
  out.reserve(value.size());
  for (const Json& item : value) {
    if (!item.is_number_integer()) return std::nullopt;
    // Compared as unsigned, so that a number too large for a signed one does not wrap.
    const bool is_negative = item.is_number_integer() && !item.is_number_unsigned();
    const std::uint64_t id = is_negative ? 0 : item.get<std::uint64_t>();
    if ((is_negative && item.get<std::int64_t>() < 0) ||
        id > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
      return std::nullopt;
    out.push_back(static_cast<std::int32_t>(is_negative ? item.get<std::int64_t>()
                                                        : static_cast<std::int64_t>(id)));
  }
  return out;
}

}  // namespace anemone::serve

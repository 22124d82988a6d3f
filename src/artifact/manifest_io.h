// SPDX-License-Identifier: Apache-2.0
// The two visitors of manifest_fields.h: one reads the members of a JSON object, one writes them.
#pragma once

#include <anemone/status.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "artifact/form.h"
#include "base/error.h"
#include "base/json.h"
#include "tensor/dtype.h"

namespace anemone::artifact {

// The words for the values of an enumeration.
template <typename T>
struct Words {
  std::span<const T> values;
  std::string_view (*name_of)(T);
};

// Reads each member into its place. Every error names the object's place in the file; after the
// first one, which status() has, nothing more is read.
class ObjectReader {
 public:
  template <typename T>
  using Of = T;

  ObjectReader(const Json& object, std::string_view subject, std::string place = {})
      : object_(object), subject_(subject), place_(std::move(place)) {
    if (!object_.is_object())
      status_ = at(parse_error("[{}] expected an object, got {}", subject_, object_.type_name()));
  }
  const Status& status() const { return status_; }

  // A member that must be there: a value, an object that fields() knows, or a list of either.
  template <typename T>
  void member(std::string_view key, T& out) {
    if (status_.ok()) status_ = read(key, out);
  }
  // A member that may be left out or null: `out` keeps its value then.
  template <typename T>
  void optional(std::string_view key, T& out) {
    if (json_member(object_, key) != nullptr) member(key, out);
  }
  template <typename T>
  void optional(std::string_view key, std::optional<T>& out) {
    if (json_member(object_, key) != nullptr) member(key, out.emplace());
  }
  template <typename T>
  void or_null(std::string_view key, std::optional<T>& out) {
    optional(key, out);
  }
  // A member whose value is a word of an enumeration. An unknown word is kUnsupported, because a
  // later version may have it; `what` names the member in that error.
  template <typename T>
  void word(std::string_view key, T& out, const Words<T>& words, const std::string& what) {
    std::string name;
    member(key, name);
    if (!status_.ok()) return;
    const auto known = std::ranges::find(words.values, std::string_view(name), words.name_of);
    if (known == words.values.end())
      status_ = at(unsupported("[{}] expected a known {}, got \"{}\"", subject_, what, name));
    else
      out = *known;
  }
  // word() for a member that the first versions did not write: it may be missing when read, and is
  // always written.
  template <typename T>
  void newer_word(std::string_view key, T& out, const Words<T>& words, const std::string& what) {
    if (json_member(object_, key) != nullptr) word(key, out, words, what);
  }
  // A choice of a form; one that is missing stays as it is.
  void choice(const FormField& field, Form& form) {
    if (!status_.ok() || json_member(object_, field.name) == nullptr) return;
    std::string value;
    member(field.name, value);
    if (status_.ok() && !set_form_field(form, field.name, value).ok())
      status_ =
          at(unsupported("[{}] expected a known {}, got \"{}\"", subject_, field.what, value));
  }

 private:
  Status read(std::string_view key, std::string& out) const {
    return take(key, "a string", json_string(object_, key, subject_), out);
  }
  Status read(std::string_view key, std::int64_t& out) const {
    return take(key, "an integer", json_int(object_, key, subject_), out);
  }
  Status read(std::string_view key, bool& out) const {
    return take(key, "true or false", json_bool(object_, key, subject_), out);
  }
  Status read(std::string_view key, double& out) const {
    return take(key, "a number", json_number(object_, key, subject_), out);
  }
  Status read(std::string_view key, std::uint64_t& out) const {
    std::int64_t value = 0;
    ANEMONE_RETURN_IF_ERROR(read(key, value));
    if (value < 0) return at(parse_error("[{}] expected {} >= 0, got {}", subject_, key, value));
    out = static_cast<std::uint64_t>(value);
    return {};
  }
  // The id of a token.
  Status read(std::string_view key, std::int32_t& out) const {
    std::int64_t value = 0;
    ANEMONE_RETURN_IF_ERROR(read(key, value));
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max())
      return at(parse_error("[{}] expected {} to be a token id, got {}", subject_, key, value));
    out = static_cast<std::int32_t>(value);
    return {};
  }
  Status read(std::string_view key, float& out) const {
    double value = 0;
    ANEMONE_RETURN_IF_ERROR(read(key, value));
    // The shortest decimal text of the largest float may be read as a slightly larger double.
    constexpr double kMax = std::numeric_limits<float>::max();
    if (!(std::abs(value) <= kMax * (1 + 0x1p-25)))
      return at(
          parse_error("[{}] expected {} within the range of fp32, got {}", subject_, key, value));
    out = static_cast<float>(std::clamp(value, -kMax, kMax));
    return {};
  }
  Status read(std::string_view key, DType& out) const {
    std::string name;
    ANEMONE_RETURN_IF_ERROR(read(key, name));
    const auto dtype = parse_dtype(name);
    if (!dtype.has_value())
      return at(
          parse_error("[{}] expected {} to name an element type, got \"{}\"", subject_, key, name));
    out = *dtype;
    return {};
  }
  Status read(std::string_view key, JsonDocument& out) const {
    if (const Json* member = json_member(object_, key)) out = *member;
    return {};
  }
  // A list. Each item is a value or an object.
  template <typename T>
  Status read(std::string_view key, std::vector<T>& out) const {
    const Json* array = json_member(object_, key);
    if (array == nullptr) return missing(key, "a list");
    if (!array->is_array())
      return at(
          parse_error("[{}] expected {} to be a list, got {}", subject_, key, array->type_name()));
    for (std::size_t i = 0; i < array->size(); ++i)
      ANEMONE_RETURN_IF_ERROR(
          read_item(key, (*array)[i], fmt::format("{}[{}]", place_of(key), i), out.emplace_back()));
    return {};
  }
  // An object.
  template <typename T>
  Status read(std::string_view key, T& out) const {
    const Json* member = json_member(object_, key);
    return member == nullptr ? missing(key, "an object") : read_object(*member, place_of(key), out);
  }

  template <typename T>
  Status read_item(std::string_view key, const Json& item, std::string place, T& out) const {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      return read_object(item, std::move(place), out);
    } else {
      if (std::is_same_v<T, std::string> ? !item.is_string() : !item.is_number())
        return at(parse_error("[{}] expected {} to hold {}, got {}", subject_, key,
                              std::is_same_v<T, std::string> ? "strings" : "numbers",
                              item.type_name()));
      // read() looks into objects; the item is wrapped to share its rules.
      Json wrapped = Json::object();
      const std::string name = fmt::format("each of {}", key);
      wrapped[name] = item;
      return ObjectReader(wrapped, subject_, place_).read(name, out);
    }
  }
  template <typename T>
  Status read_object(const Json& object, std::string place, T& out) const {
    ObjectReader reader(object, subject_, std::move(place));
    fields(reader, out);
    return reader.status();
  }
  template <typename T>
  Status take(std::string_view key, std::string_view kind, Result<std::optional<T>> value,
              T& out) const {
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, kind);
    out = **std::move(value);
    return {};
  }

  std::string place_of(std::string_view key) const {
    return place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
  }
  Status missing(std::string_view key, std::string_view kind) const {
    return at(parse_error("[{}] expected {} to be {}, got nothing", subject_, key, kind));
  }
  Status at(const Status& status) const { return place_.empty() ? status : status.with(place_); }

  const Json& object_;
  std::string_view subject_;
  std::string place_;
  Status status_;
};

// Writes each member in the order in which it is named.
class ObjectWriter {
 public:
  template <typename T>
  using Of = const T;

  Json take() { return std::move(object_); }

  template <typename T>
  void member(std::string_view key, const T& value) {
    object_[std::string(key)] = json_of(value);
  }
  // Left out where it is empty, zero or false.
  template <typename T>
  void optional(std::string_view key, const T& value) {
    if (!(value == T{})) member(key, value);
  }
  template <typename T>
  void optional(std::string_view key, const std::optional<T>& value) {
    if (value) member(key, *value);
  }
  template <typename T>
  void or_null(std::string_view key, const std::optional<T>& value) {
    object_[std::string(key)] = value ? json_of(*value) : Json();
  }
  template <typename T>
  void word(std::string_view key, T value, const Words<T>& words, const std::string& /*what*/) {
    object_[std::string(key)] = words.name_of(value);
  }
  template <typename T>
  void newer_word(std::string_view key, T value, const Words<T>& words, const std::string& what) {
    word(key, value, words, what);
  }
  void choice(const FormField& field, const Form& form) {
    object_[std::string(field.name)] = field.value_of(form);
  }

 private:
  template <typename T>
  static Json json_of(const T& value) {
    if constexpr (std::is_same_v<T, float>) {
      return shortest_double(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      ObjectWriter writer;
      fields(writer, value);
      return writer.take();
    }
  }
  static Json json_of(DType value) { return dtype_name(value); }
  static Json json_of(const JsonDocument& value) { return *value; }
  template <typename T>
  static Json json_of(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) out.push_back(json_of(value));
    return out;
  }
  // The double whose shortest decimal text is the shortest text of the float: 0.1, not
  // 0.10000000149011612.
  static double shortest_double(float value);

  Json object_ = Json::object();
};

}  // namespace anemone::artifact

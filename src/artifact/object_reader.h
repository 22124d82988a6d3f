// SPDX-License-Identifier: Apache-2.0
// Typed access to JSON objects for the readers of manifest.json in this module.
#pragma once

#include <anemone/status.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/verification.h"
#include "base/error.h"
#include "base/json.h"
#include "tensor/dtype.h"

namespace anemone::artifact {

// Reads the members of one object; every error names the object's place in the file.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string_view subject, std::string place)
      : object_(object), subject_(subject), place_(std::move(place)) {}

  Status check_is_object() const {
    if (object_.is_object()) return {};
    return at(parse_error("[{}] expected an object, got {}", subject_, object_.type_name()));
  }

  Status read(std::string_view key, std::string& out) const {
    auto value = json_string(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, "a string");
    out = **std::move(value);
    return {};
  }
  Status read_optional(std::string_view key, std::string& out) const {
    return json_member(object_, key) == nullptr ? Status() : read(key, out);
  }
  Status read(std::string_view key, std::int64_t& out) const {
    const auto value = json_int(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, "an integer");
    out = **value;
    return {};
  }
  Status read_optional(std::string_view key, bool& out) const {
    const auto value = json_bool(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    out = value->value_or(out);
    return {};
  }
  Status read_optional(std::string_view key, std::int64_t& out) const {
    return json_member(object_, key) == nullptr ? Status() : read(key, out);
  }
  Status read(std::string_view key, std::uint64_t& out) const {
    std::int64_t value = 0;
    ANEMONE_RETURN_IF_ERROR(read(key, value));
    if (value < 0) return at(parse_error("[{}] expected {} >= 0, got {}", subject_, key, value));
    out = static_cast<std::uint64_t>(value);
    return {};
  }
  Status read(std::string_view key, bool& out) const {
    const auto value = json_bool(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, "true or false");
    out = **value;
    return {};
  }
  Status read(std::string_view key, double& out) const {
    const auto value = json_number(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, "a number");
    out = **value;
    return {};
  }
  Status read(std::string_view key, float& out) const {
    const auto value = json_number(object_, key, subject_);
    if (!value.ok()) return at(value.status());
    if (!value->has_value()) return missing(key, "a number");
    return to_float(**value, key, out);
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
  Status read(std::string_view key, std::vector<std::int64_t>& out) const {
    return for_each(key, [&](const Json& item, const std::string&) -> Status {
      // The typed helpers look into objects; an element is wrapped to share their rules.
      Json wrapped = Json::object();
      wrapped[std::string(key)] = item;
      std::int64_t value = 0;
      ANEMONE_RETURN_IF_ERROR(ObjectReader(wrapped, subject_, place_).read(key, value));
      out.push_back(value);
      return {};
    });
  }
  Status read(std::string_view key, std::vector<float>& out) const {
    return for_each(key, [&](const Json& item, const std::string&) -> Status {
      float value = 0;
      if (!item.is_number())
        return at(parse_error("[{}] expected {} to hold numbers, got {}", subject_, key,
                              item.type_name()));
      ANEMONE_RETURN_IF_ERROR(to_float(item.get<double>(), key, value));
      out.push_back(value);
      return {};
    });
  }
  Status read_optional(std::string_view key, std::vector<std::string>& out) const {
    if (json_member(object_, key) == nullptr) return {};
    return for_each(key, [&](const Json& item, const std::string&) -> Status {
      if (!item.is_string())
        return at(parse_error("[{}] expected {} to hold strings, got {}", subject_, key,
                              item.type_name()));
      out.push_back(item.get<std::string>());
      return {};
    });
  }
  // Objects of an array, each read by `read_item(reader, T&)`.
  template <typename T, typename ReadItem>
  Status read_objects(std::string_view key, std::vector<T>& out, ReadItem read_item) const {
    return for_each(key, [&](const Json& item, const std::string& place) -> Status {
      const ObjectReader reader(item, subject_, place);
      ANEMONE_RETURN_IF_ERROR(reader.check_is_object());
      T value;
      ANEMONE_RETURN_IF_ERROR(read_item(reader, value));
      out.push_back(std::move(value));
      return {};
    });
  }
  Result<ObjectReader> object(std::string_view key) const {
    const Json* member = json_member(object_, key);
    if (member == nullptr) return missing(key, "an object");
    ObjectReader reader(*member, subject_, place_of(key));
    ANEMONE_RETURN_IF_ERROR(reader.check_is_object());
    return reader;
  }

  const Json* member(std::string_view key) const { return json_member(object_, key); }
  std::string_view subject() const { return subject_; }
  Status at(const Status& status) const { return place_.empty() ? status : status.with(place_); }

 private:
  std::string place_of(std::string_view key) const {
    return place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key);
  }
  Status missing(std::string_view key, std::string_view kind) const {
    return at(parse_error("[{}] expected {} to be {}, got nothing", subject_, key, kind));
  }
  Status to_float(double value, std::string_view key, float& out) const {
    // The shortest text of the largest float lies above it by less than half a step.
    constexpr double kMax = std::numeric_limits<float>::max();
    if (!(std::abs(value) <= kMax * (1 + 0x1p-25)))
      return at(
          parse_error("[{}] expected {} within the range of fp32, got {}", subject_, key, value));
    out = static_cast<float>(std::clamp(value, -kMax, kMax));
    return {};
  }
  template <typename Visit>
  Status for_each(std::string_view key, Visit visit) const {
    const Json* array = json_member(object_, key);
    if (array == nullptr) return missing(key, "a list");
    if (!array->is_array())
      return at(
          parse_error("[{}] expected {} to be a list, got {}", subject_, key, array->type_name()));
    for (std::size_t i = 0; i < array->size(); ++i)
      ANEMONE_RETURN_IF_ERROR(visit((*array)[i], fmt::format("{}[{}]", place_of(key), i)));
    return {};
  }

  const Json& object_;
  std::string_view subject_;
  std::string place_;
};

// The object "verification".
Result<Verification> read_verification(const ObjectReader& reader);

}  // namespace anemone::artifact

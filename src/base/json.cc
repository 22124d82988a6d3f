// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/json_release.h"

namespace anemone {
namespace {

constexpr std::size_t kHeapHeader = 16;  // of a piece of the heap
// What a value and the sorting of a key cost at least, in nanoseconds.
constexpr std::size_t kUnitsPerValue = 50;
constexpr std::size_t kUnitsPerKey = 200;
// Most bytes of a text from the document that a message shows.
constexpr std::size_t kMaxShown = 200;

// What a string costs beyond the value that holds it.
std::size_t heap_bytes(const std::string& text) {
  constexpr std::size_t kInPlace = 15;
  return text.size() <= kInPlace ? 0 : text.size() + kHeapHeader;
}

// Builds the document from nlohmann's SAX parser, which is not recursive, so that depth and memory
// are bounded before anything grows. nlohmann's own builder does not serve: it looks for each key
// among all keys before it, so a file with many keys would take quadratic time.
class LimitedBuilder {
 public:
  LimitedBuilder(Json& out, const JsonLimits& limits) : root_(out), limits_(limits) {}

  bool null() { return add(nullptr, 0); }
  bool boolean(bool value) { return add(value, 0); }
  bool number_integer(std::int64_t value) { return add(value, 0); }
  bool number_unsigned(std::uint64_t value) { return add(value, 0); }
  bool number_float(double value, const std::string& /*text*/) { return add(value, 0); }
  bool string(std::string& value) {
    const std::size_t bytes = sizeof(std::string) + kHeapHeader + heap_bytes(value);
    return add(std::move(value), bytes);
  }
  bool binary(Json::binary_t& /*value*/) { return false; }  // JSON text has none

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool end_object() {
    const Json& object = *open_.back();
    open_.pop_back();
    return has_each_key_once(object);
  }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string& /*token*/, const Exception& error) {
    // nlohmann's text: "[json.exception.parse_error.101] parse error at line 1, column 5: syntax
    // ..."
    std::string_view text = error.what();
    if (const auto colon = text.find(": "); colon != text.npos) text.remove_prefix(colon + 2);
    problem = fmt::format("{} (byte {})", shortened(text, kMaxShown), position);
    return false;
  }

  std::string problem;
  Status exceeded;  // the budget's

 private:
  bool pay(std::size_t bytes) {
    if (limits_.budget == nullptr) return true;
    exceeded = limits_.budget->take(bytes);
    return exceeded.ok() && pay_time(kUnitsPerValue + bytes);
  }
  bool pay_time(std::size_t units) {
    if (limits_.budget == nullptr) return true;
    exceeded = limits_.budget->spend(units);
    return exceeded.ok();
  }
  bool open(Json container) {
    if (open_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
      problem = fmt::format("nested deeper than {} levels", limits_.max_depth);
      return false;
    }
    constexpr std::size_t kContainer = sizeof(Json::object_t) + 2 * kHeapHeader;
    Json* const placed = place(std::move(container), kContainer);
    if (placed == nullptr) return false;
    open_.push_back(placed);
    return true;
  }
  template <typename T>
  bool add(T&& value, std::size_t bytes) {
    return place(Json(std::forward<T>(value)), bytes) != nullptr;
  }
  // Stores the value; returns its address, or null when it would take too much memory. The address
  // holds until its container gets another member, which is after the value is complete.
  Json* place(Json value, std::size_t bytes) {
    const bool is_member = !open_.empty() && open_.back()->is_object();
    // Twice: a container that grows has room for as many members again.
    bytes += 2 * (is_member ? sizeof(Json::object_t::value_type) : sizeof(Json));
    if (is_member) bytes += heap_bytes(key_);
    if (bytes > limits_.max_memory - used_) {
      problem =
          fmt::format("its values would take more than {} bytes of memory", limits_.max_memory);
      return nullptr;
    }
    used_ += bytes;
    if (!pay(bytes)) return nullptr;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    auto& members = static_cast<Json::object_t::Container&>(parent.get_ref<Json::object_t&>());
    members.emplace_back(std::move(key_), std::move(value));
    return &members.back().second;
  }
  // Checks by sorting: whoever chooses the keys could make those of a hash table collide.
  bool has_each_key_once(const Json& object) {
    if (!pay_time(object.size() * kUnitsPerKey)) return false;
    names_.clear();
    for (const auto& [name, value] : object.get_ref<const Json::object_t&>())
      names_.push_back(name);
    std::ranges::sort(names_);
    const auto twice = std::ranges::adjacent_find(names_);
    if (twice == names_.end()) return true;
    problem =
        fmt::format("the key \"{}\" appears twice in one object", shortened(*twice, kMaxShown));
    return false;
  }

  Json& root_;
  JsonLimits limits_;
  std::size_t used_ = 0;
  std::vector<Json*> open_;
  std::string key_;
  std::vector<std::string_view> names_;  // of one object; the storage is used again
};

Status type_error(std::string_view subject, std::string_view key, std::string_view expected,
                  const Json& got) {
  return parse_error("[{}] expected {} to be {}, got {}", subject, key, expected, got.type_name());
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view subject, const JsonLimits& limits) {
  // nlohmann takes a zero byte for the end of the text and would not look at what follows.
  if (const auto zero = text.find('\0'); zero != text.npos)
    return parse_error("[{}] expected JSON, got a zero byte (byte {})", subject, zero + 1);
  Json value;
  const JsonReleaser releaser(value);  // which is null when it was returned
  LimitedBuilder builder(value, limits);
  const bool is_good = Json::sax_parse(text.begin(), text.end(), &builder);
  if (!builder.exceeded.ok()) return builder.exceeded;
  if (!is_good) return parse_error("[{}] expected JSON: {}", subject, builder.problem);
  return value;
}

Result<Json> read_json_file(const std::string& path, const JsonLimits& limits) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(path, limits.max_file_bytes));
  return parse_json(text, path, limits);
}

JsonDocument::JsonDocument() : JsonDocument(Json::object()) {}
JsonDocument::JsonDocument(Json value) : value_(std::make_unique<Json>(std::move(value))) {}
JsonDocument::JsonDocument(const JsonDocument& other) : JsonDocument(*other) {}
JsonDocument& JsonDocument::operator=(const JsonDocument& other) {
  return *this = JsonDocument(other);
}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&& other) noexcept {
  value_.swap(other.value_);
  return *this;
}
JsonDocument::~JsonDocument() {
  if (value_ != nullptr) release_json(*value_);
}

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void append_member(Json& object, std::string_view name, Json&& value) {
  using Members = Json::object_t::Container;
  auto& members = static_cast<Members&>(object.get_ref<Json::object_t&>());
  if (members.size() == members.capacity()) {
    Json grown = Json::object();
    const JsonReleaser grown_releaser(grown);
    auto& target = static_cast<Members&>(grown.get_ref<Json::object_t&>());
    target.reserve(2 * members.size() + 8);
    for (auto& [key, member] : members) target.emplace_back(key, std::move(member));
    members.swap(target);
  }
  members.emplace_back(name, std::move(value));
}

void set_member(Json& object, std::string_view name, Json&& value) {
  const auto place = object.find(name);
  if (place == object.end()) return append_member(object, name, std::move(value));
  release_json(*place);
  *place = std::move(value);
}

const Json* json_member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>())
    if (name == key) return value.is_null() ? nullptr : &value;
  return nullptr;
}

Json* json_member(Json& object, std::string_view key) {
  return const_cast<Json*>(json_member(std::as_const(object), key));
}

Result<std::optional<std::int64_t>> json_int(const Json& object, std::string_view key,
                                             std::string_view subject) {
  const Json* member = json_member(object, key);
  if (member == nullptr) return std::optional<std::int64_t>();
  if (member->is_number_unsigned() && member->get<std::uint64_t>() > INT64_MAX)
    return type_error(subject, key, "a 64-bit integer", *member);
  if (member->is_number_integer()) return std::optional(member->get<std::int64_t>());
  if (member->is_number_float()) {
    // Some configs write 1e6 or 32768.0 where an integer is meant.
    const double number = member->get<double>();
    if (std::abs(number) < 9e15 && number == std::floor(number))
      return std::optional(static_cast<std::int64_t>(number));
  }
  return type_error(subject, key, "an integer", *member);
}

Result<std::optional<double>> json_number(const Json& object, std::string_view key,
                                          std::string_view subject) {
  const Json* member = json_member(object, key);
  if (member == nullptr) return std::optional<double>();
  if (!member->is_number()) return type_error(subject, key, "a number", *member);
  const double number = member->get<double>();
  if (!std::isfinite(number)) return type_error(subject, key, "a finite number", *member);
  return std::optional(number);
}

Result<std::optional<bool>> json_bool(const Json& object, std::string_view key,
                                      std::string_view subject) {
  const Json* member = json_member(object, key);
  if (member == nullptr) return std::optional<bool>();
  if (!member->is_boolean()) return type_error(subject, key, "true or false", *member);
  return std::optional(member->get<bool>());
}

Result<std::optional<std::string>> json_string(const Json& object, std::string_view key,
                                               std::string_view subject) {
  const Json* member = json_member(object, key);
  if (member == nullptr) return std::optional<std::string>();
  if (!member->is_string()) return type_error(subject, key, "a string", *member);
  return std::optional(member->get<std::string>());
}

}  // namespace anemone

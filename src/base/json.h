// SPDX-License-Identifier: Apache-2.0
// Small and medium JSON (configs, manifests, requests, safetensors headers). Objects keep insertion
// order, so lookups are linear: iterate over big objects. tokenizer.json goes through simdjson
// (text/).
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_budget.h"

namespace anemone {

using Json = nlohmann::ordered_json;

// A document as a member of a class whose header need not know the library's definition. Copies are
// documents of their own. An empty object at first; a document that was moved from may only be
// assigned to or destroyed.
class JsonDocument {
 public:
  JsonDocument();
  JsonDocument(Json value);  // NOLINT(google-explicit-constructor): stands wherever a Json does
  JsonDocument(const JsonDocument& other);
  JsonDocument& operator=(const JsonDocument& other);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  const Json& operator*() const { return *value_; }
  Json& operator*() { return *value_; }
  const Json* operator->() const { return value_.get(); }
  Json* operator->() { return value_.get(); }

 private:
  std::unique_ptr<Json> value_;
};

struct JsonLimits {
  int max_depth = 128;
  // Limits the memory that the values, their names and their texts take together. The parser counts
  // while it reads, since two bytes of text can become a value of thirty bytes.
  std::size_t max_memory = 256 << 20;
  std::uint64_t max_file_bytes = 16 << 20;  // of read_json_file()
  // The budget of the request that sent the text: parsing charges its time and memory to it.
  // May be null.
  WorkBudget* budget = nullptr;
};

// kParseError with the byte offset: "[subject] expected ..., got ... (byte 17)". Rejects invalid
// UTF-8, trailing text, an object that names a key twice, and what goes beyond the limits. Takes
// O(n log n) time for a text of n bytes, whatever its keys are. Gives the budget's error when the
// budget is used up.
Result<Json> parse_json(std::string_view text, std::string_view subject,
                        const JsonLimits& limits = {});
// kCorrupt for a file that is too large, kIo as read_file().
Result<Json> read_json_file(const std::string& path, const JsonLimits& limits = {});

// Compact, UTF-8, invalid sequences replaced (never throws).
std::string dump_json(const Json& value, int indent = -1);

// Typed access with one-line errors: "[subject] expected <key> to be an integer, got string".
// `key` absent or null gives nullopt; a wrong type or an out-of-range value is kParseError.
Result<std::optional<std::int64_t>> json_int(const Json& object, std::string_view key,
                                             std::string_view subject);
Result<std::optional<double>> json_number(const Json& object, std::string_view key,
                                          std::string_view subject);
Result<std::optional<bool>> json_bool(const Json& object, std::string_view key,
                                      std::string_view subject);
Result<std::optional<std::string>> json_string(const Json& object, std::string_view key,
                                               std::string_view subject);

// Adds a member at the end of an object, which has none of that name. Moves the other members where
// they need more room; the library's containers copy them, because their keys are constants.
void append_member(Json& object, std::string_view name, Json&& value);
// Replaces the member of that name, or adds one at the end of the object.
void set_member(Json& object, std::string_view name, Json&& value);

// Pointer to a member that is present and not null, or nullptr. `object` may be any JSON value.
const Json* json_member(const Json& object, std::string_view key);
Json* json_member(Json& object, std::string_view key);

}  // namespace anemone

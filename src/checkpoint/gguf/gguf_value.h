// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"

namespace anemone::checkpoint::gguf {

// The value types of metadata, by their numbers in the file.
enum class ValueType : std::uint32_t {
  kUInt8 = 0,
  kInt8 = 1,
  kUInt16 = 2,
  kInt16 = 3,
  kUInt32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUInt64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// One value: where its items lie in the file, whose bounds were checked. Items are of one type,
// which is not kArray; a scalar is one item.
struct Value {
  ValueType type = ValueType::kUInt8;
  bool is_array = false;
  std::uint64_t count = 1;
  std::span<const std::byte> bytes;
};

// The metadata of a GGUF file, decoded when it is asked for. A view of mapped bytes. Immutable,
// thread-safe. Accessors give nullopt for absent keys and kParseError naming the key for values of
// another kind; integers may have any width and sign, and must fit into 64 signed bits.
class Metadata {
 public:
  // Reads `count` pairs. kCorrupt for a key twice, a type that is none, and what does not fit into
  // the file; kUnsupported for arrays of arrays.
  static Result<Metadata> read(ByteReader& reader, std::uint64_t count, const std::string& subject);

  const std::map<std::string, Value, std::less<>>& values() const { return values_; }
  const std::string& subject() const { return subject_; }
  const Value* find(std::string_view key) const;

  Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string_view>> text(std::string_view key) const;
  // Views of the mapped file.
  Result<std::optional<std::vector<std::string_view>>> texts(std::string_view key) const;
  Result<std::optional<std::vector<std::int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> booleans(std::string_view key) const;
  Result<std::optional<std::vector<float>>> floats(std::string_view key) const;

  // The value as a message shows it: "12", "llama", "[512 strings]"; long texts are cut.
  static std::string describe(const Value& value);

 private:
  std::map<std::string, Value, std::less<>> values_;
  std::string subject_;
};

// A GGUF string: 64-bit length, bytes.
Result<std::string_view> read_string(ByteReader& reader);

}  // namespace anemone::checkpoint::gguf

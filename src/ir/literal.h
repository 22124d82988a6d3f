// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "tensor/tensor.h"

namespace anemone::ir {

// Bytes of a constant, valid as long as `owner` lives.
struct DataBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Where the bytes of a constant lie: in memory, in a mapped weight file, or nowhere yet (a weight
// that is converted from a checkpoint when it is written). Immutable, shared between functions: two
// literals with the same Data object are one blob in the package. load() is thread-safe.
class Data {
 public:
  virtual ~Data() = default;
  virtual std::uint64_t size_bytes() const = 0;
  // Packed little-endian elements. Lazy data computes them anew at each call and keeps nothing.
  virtual Result<DataBytes> load() const = 0;
  // True when load() costs nothing (bytes are in memory or mapped).
  virtual bool is_resident() const { return true; }
};

std::shared_ptr<const Data> owned_data(Tensor tensor);
std::shared_ptr<const Data> mapped_data(std::span<const std::byte> bytes,
                                        std::shared_ptr<const void> owner);
// `make` returns a tensor of exactly `size_bytes`; called once for each load(), from any thread.
std::shared_ptr<const Data> lazy_data(std::uint64_t size_bytes,
                                      std::function<Result<Tensor>()> make);

// A compile-time value with its type: numbers as Data, strings, lists and dictionaries by value.
// Copies share the Data.
class Literal {
 public:
  using Strings = std::vector<std::string>;                     // string tensor, row-major
  using List = std::vector<Literal>;                            // list and tuple
  using Dictionary = std::vector<std::pair<Literal, Literal>>;  // in order of the file

  Literal() = default;
  Literal(Type type, std::shared_ptr<const Data> data);
  Literal(Type type, Strings strings);
  Literal(Type type, List items);
  Literal(Type type, Dictionary entries);

  static Literal of(Tensor tensor);
  static Literal text(std::string value);
  static Literal boolean(bool value);
  static Literal int32(std::int32_t value);
  static Literal int32s(std::span<const std::int32_t> values);  // rank 1
  static Literal int32s(std::initializer_list<std::int32_t> values);
  static Literal bools(std::initializer_list<bool> values);
  // A float scalar stored as `dtype` (fp16 or fp32).
  static Literal number(double value, DType dtype);
  static Literal string_dictionary(const std::vector<std::pair<std::string, std::string>>& entries);

  const Type& type() const { return type_; }
  // nullptr unless this is a tensor of numbers or bools.
  const std::shared_ptr<const Data>& data() const { return data_; }
  const Strings& strings() const { return strings_; }
  const List& items() const { return items_; }
  const Dictionary& entries() const { return entries_; }

  // The text of a scalar string; nullopt for anything else.
  std::optional<std::string_view> as_text() const;
  // A copy of the elements as a tensor; for small constants and tests.
  Result<Tensor> to_tensor() const;

 private:
  Type type_;
  std::shared_ptr<const Data> data_;
  Strings strings_;
  List items_;
  Dictionary entries_;
};

// Same type and same content, byte for byte (NaN equals itself). Loads the data of both.
Result<bool> equal(const Literal& a, const Literal& b);

}  // namespace anemone::ir

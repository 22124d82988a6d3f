// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anemone::testing {

// Writes small GGUF files, right or wrong ones. Values and tensors come in the order of the calls.
class GgufBuilder {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  GgufBuilder& text(std::string_view key, std::string_view value) {
    begin(key, 8);
    put_text(metadata_, value);
    return *this;
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) {
    begin(key, 4);
    put(metadata_, value);
    return *this;
  }
  GgufBuilder& f32(std::string_view key, float value) {
    begin(key, 6);
    put(metadata_, value);
    return *this;
  }
  GgufBuilder& boolean(std::string_view key, bool value) {
    begin(key, 7);
    put(metadata_, static_cast<std::uint8_t>(value));
    return *this;
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    begin_array(key, 8, values.size());
    for (const std::string& value : values) put_text(metadata_, value);
    return *this;
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    begin_array(key, 5, values.size());
    for (const std::int32_t value : values) put(metadata_, value);
    return *this;
  }
  GgufBuilder& f32s(std::string_view key, const std::vector<float>& values) {
    begin_array(key, 6, values.size());
    for (const float value : values) put(metadata_, value);
    return *this;
  }
  // A value of raw bytes, of whatever type.
  GgufBuilder& raw(std::string_view key, std::uint32_t type, std::string_view bytes) {
    begin(key, type);
    metadata_ += bytes;
    return *this;
  }
  // `shape` outermost first.
  GgufBuilder& tensor(std::string_view name, std::vector<std::uint64_t> shape, std::uint32_t type,
                      std::string_view bytes) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    return tensor_at(name, std::move(shape), type, data_.size(), bytes);
  }
  GgufBuilder& tensor_at(std::string_view name, std::vector<std::uint64_t> shape,
                         std::uint32_t type, std::uint64_t offset, std::string_view bytes) {
    ++tensor_count_;
    put_text(tensors_, name);
    put(tensors_, static_cast<std::uint32_t>(shape.size()));
    for (auto it = shape.rbegin(); it != shape.rend(); ++it) put(tensors_, *it);
    put(tensors_, type);
    put(tensors_, offset);
    data_ += bytes;
    return *this;
  }
  GgufBuilder& f32_tensor(std::string_view name, std::vector<std::uint64_t> shape,
                          const std::vector<float>& values) {
    return tensor(name, std::move(shape), 0,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  std::string bytes() const {
    std::string out = "GGUF";
    put(out, version);
    put(out, tensor_count_);
    put(out, value_count_);
    out += metadata_ + tensors_;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  template <typename T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static void put_text(std::string& out, std::string_view text) {
    put(out, std::uint64_t{text.size()});
    out += text;
  }
  void begin(std::string_view key, std::uint32_t type) {
    ++value_count_;
    put_text(metadata_, key);
    put(metadata_, type);
  }
  void begin_array(std::string_view key, std::uint32_t type, std::size_t count) {
    begin(key, 9);
    put(metadata_, type);
    put(metadata_, std::uint64_t{count});
  }

  std::string metadata_;
  std::string tensors_;
  std::string data_;
  std::uint64_t value_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

}  // namespace anemone::testing

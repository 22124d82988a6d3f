// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace anemone::checkpoint::gguf {

// The keys "<architecture>.<name>" of a file. Remembers which were asked for, so that those that
// nobody reads, and which may change the numbers, can be refused.
class Keys {
 public:
  Keys(const GgufFile& file, std::string_view architecture)
      : file_(file), metadata_(file.metadata()), prefix_(std::string(architecture) + ".") {}

  const GgufFile& file() const { return file_; }
  // "llama.", for messages.
  const std::string& prefix() const { return prefix_; }

  bool has(std::string_view name) { return metadata_.find(key(name)) != nullptr; }
  // An absent key gives nullopt, or kParseError if the function is a `required_` one.
  Result<std::optional<std::int64_t>> integer(std::string_view name);
  Result<std::optional<double>> number(std::string_view name);
  Result<double> required_number(std::string_view name);
  Result<std::optional<bool>> boolean(std::string_view name);
  Result<std::optional<std::string_view>> text(std::string_view name);
  Result<std::optional<std::vector<std::string_view>>> texts(std::string_view name);
  // One for each of `layers`: an array, or a number that holds for all. kParseError for an array of
  // another length.
  Result<std::optional<std::vector<std::int64_t>>> of_layers(std::string_view name,
                                                             std::int64_t layers);
  // One flag per layer; the key must be there.
  Result<std::vector<bool>> flags_of_layers(std::string_view name, std::int64_t layers);
  // A number, or an array of the same number for each layer; kUnsupported for different ones.
  Result<std::optional<std::int64_t>> size(std::string_view name);
  Result<std::int64_t> required_size(std::string_view name);

  // Marks a key as known that has no influence on the numbers that are computed here.
  void ignore(std::string_view name) { key(name); }
  // kUnsupported, naming it, for a key that nobody asked for. A value of 0 passes: it says that the
  // model does not have something.
  Status refuse_the_rest() const;

 private:
  std::string key(std::string_view name);

  const GgufFile& file_;
  const Metadata& metadata_;
  const std::string prefix_;
  std::set<std::string> known_;
};

// A tensor of positive floats (F32), such as what rope frequencies are divided by; kCorrupt for one
// of another shape or type.
Result<std::vector<float>> read_factors(const GgufFile& file, const TensorInfo& tensor,
                                        std::int64_t count);

}  // namespace anemone::checkpoint::gguf

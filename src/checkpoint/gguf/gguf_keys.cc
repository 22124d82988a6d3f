// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_keys.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace anemone::checkpoint::gguf {

std::string Keys::key(std::string_view name) {
  std::string full = prefix_ + std::string(name);
  known_.insert(full);
  return full;
}

Result<std::optional<std::int64_t>> Keys::integer(std::string_view name) {
  return metadata_.integer(key(name));
}

Result<std::optional<double>> Keys::number(std::string_view name) {
  return metadata_.number(key(name));
}

Result<double> Keys::required_number(std::string_view name) {
  ANEMONE_ASSIGN_OR_RETURN(const auto value, number(name));
  if (!value)
    return parse_error("[{}] expected a metadata value {}{}, got none", file_.path(), prefix_,
                       name);
  return *value;
}

Result<std::optional<bool>> Keys::boolean(std::string_view name) {
  return metadata_.boolean(key(name));
}

Result<std::optional<std::string_view>> Keys::text(std::string_view name) {
  return metadata_.text(key(name));
}

Result<std::optional<std::vector<std::string_view>>> Keys::texts(std::string_view name) {
  return metadata_.texts(key(name));
}

Result<std::optional<std::vector<std::int64_t>>> Keys::of_layers(std::string_view name,
                                                                 std::int64_t layers) {
  const std::string full = key(name);
  const Value* value = metadata_.find(full);
  if (value == nullptr) return std::optional<std::vector<std::int64_t>>();
  if (value->is_array) {
    ANEMONE_ASSIGN_OR_RETURN(auto items, metadata_.integers(full));
    if (static_cast<std::int64_t>(items->size()) != layers)
      return parse_error("[{}] expected {} to hold a value for each of {} layers, got {}",
                         file_.path(), full, layers, items->size());
    return items;
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto one, metadata_.integer(full));
  return std::optional(std::vector<std::int64_t>(static_cast<std::size_t>(layers), *one));
}

Result<std::vector<bool>> Keys::flags_of_layers(std::string_view name, std::int64_t layers) {
  const std::string full = key(name);
  ANEMONE_ASSIGN_OR_RETURN(const auto flags, metadata_.booleans(full));
  if (!flags || static_cast<std::int64_t>(flags->size()) != layers)
    return parse_error("[{}] expected {} to hold a flag for each of {} layers, got {}",
                       file_.path(), full, layers, flags ? std::to_string(flags->size()) : "none");
  return *flags;
}

Result<std::optional<std::int64_t>> Keys::size(std::string_view name) {
  const std::string full = key(name);
  const Value* value = metadata_.find(full);
  if (value == nullptr || !value->is_array) return metadata_.integer(full);
  ANEMONE_ASSIGN_OR_RETURN(const auto items, metadata_.integers(full));
  if (items->empty() ||
      std::ranges::count(*items, items->front()) != static_cast<std::ptrdiff_t>(items->size()))
    return unsupported("[{}] expected {} to be the same for every layer", file_.path(), full);
  return std::optional(items->front());
}

Result<std::int64_t> Keys::required_size(std::string_view name) {
  ANEMONE_ASSIGN_OR_RETURN(const auto value, size(name));
  if (!value)
    return parse_error("[{}] expected a metadata value {}{}, got none", file_.path(), prefix_,
                       name);
  return *value;
}

Status Keys::refuse_the_rest() const {
  for (const auto& [name, value] : metadata_.values()) {
    if (!name.starts_with(prefix_) || known_.contains(name)) continue;
    if (Metadata::describe(value) == "0") continue;
    return unsupported("[{}] metadata key {} is not supported (value {})", file_.path(), name,
                       Metadata::describe(value));
  }
  return {};
}

Result<std::vector<float>> read_factors(const GgufFile& file, const TensorInfo& tensor,
                                        std::int64_t count) {
  if (tensor.type->plain != DType::kFp32 || tensor.shape != Shape{count})
    return corrupt("[{}] expected {} to be {} floats (F32), got {} of {}", file.path(), tensor.name,
                   count, tensor.type->name, to_string(tensor.shape));
  std::vector<float> out(static_cast<std::size_t>(count));
  WeightRef weight;
  weight.shape = tensor.shape;
  weight.bytes = tensor.bytes;
  read_floats(weight, 0, out);
  for (const float factor : out)
    if (!(factor > 0) || !std::isfinite(factor))
      return corrupt("[{}] expected {} to hold positive numbers, got {}", file.path(), tensor.name,
                     factor);
  return out;
}

}  // namespace anemone::checkpoint::gguf

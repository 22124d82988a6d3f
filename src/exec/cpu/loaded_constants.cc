// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/loaded_constants.h"

#include <algorithm>

#include "base/error.h"

namespace anemone::exec {
namespace {

bool is_aligned(const std::byte* data, DType dtype) {
  const std::uint64_t size = is_sub_byte(dtype) ? 1 : dtype_bytes(dtype, 1);
  return size <= 1 || reinterpret_cast<std::uintptr_t>(data) % size == 0;
}

// Whether values of this type may be indices, offsets or sizes. They are checked once and used
// later, so that they must not lie in a file into which somebody else may write meanwhile. Weights
// have other types, and whatever stands in them, they are numbers.
bool says_where(DType dtype) {
  return dtype == DType::kBool || (!is_float(dtype) && dtype_bits(dtype) >= 16);
}

}  // namespace

Result<Register> LoadedConstants::reg(const ir::Literal& literal) {
  Register out;
  out.text = literal.as_text();
  if (literal.data() == nullptr) return out;
  const ir::Type& type = literal.type();
  ANEMONE_ASSIGN_OR_RETURN(const auto bytes, load(literal));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(type.shape));
  const std::uint64_t want = dtype_bytes(type.dtype, static_cast<std::uint64_t>(count));
  if (bytes.size() != want)
    return corrupt("expected {} bytes for a constant of {}, got {}", want, ir::to_string(type),
                   bytes.size());
  out.view = {type.dtype, type.shape, bytes.data()};
  return out;
}

Result<std::span<const std::byte>> LoadedConstants::load(const ir::Literal& literal) {
  const ir::Data* data = literal.data().get();
  if (const auto it = loaded_.find(data); it != loaded_.end()) return it->second;
  ANEMONE_ASSIGN_OR_RETURN(ir::DataBytes bytes, data->load());
  std::span<const std::byte> span = bytes.bytes;
  if (span.data() == nullptr || says_where(literal.type().dtype) ||
      !is_aligned(span.data(), literal.type().dtype)) {
    auto copy = std::make_shared<Tensor>(
        DType::kUInt8, Shape{static_cast<std::int64_t>(std::max<std::size_t>(span.size(), 1))});
    std::copy(span.begin(), span.end(), copy->mutable_view().bytes().begin());
    span = copy->view().bytes().first(span.size());
    owners_.push_back(std::move(copy));
  } else {
    owners_.push_back(std::move(bytes.owner));
  }
  loaded_.emplace(data, span);
  return span;
}

}  // namespace anemone::exec

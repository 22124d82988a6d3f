// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/state_store.h"

#include <cstring>

#include "base/error.h"
#include "base/machine.h"
#include "base/zero_memory.h"

namespace anemone::exec {
namespace {

std::size_t bytes_of(const Feature& state) {
  return static_cast<std::size_t>(
      dtype_bytes(state.dtype, static_cast<std::uint64_t>(element_count(state.shape))));
}

}  // namespace

Result<std::unique_ptr<StateStore>> CpuStateStore::make(std::vector<Feature> states) {
  std::unique_ptr<CpuStateStore> store(new CpuStateStore(std::move(states)));
  // The system may promise more memory than it has, and ends the process that believes it.
  std::uint64_t left = usable_memory_bytes() / 4 * 3;
  for (const Feature& state : store->states_) {
    const bool has_room = bytes_of(state) <= left;
    BufferRef buffer = has_room ? Buffer::make_zero(bytes_of(state)) : nullptr;
    if (buffer == nullptr)
      return out_of_memory("[state {}] not enough memory: the state needs {} bytes", state.name,
                           bytes_of(state));
    left -= bytes_of(state);
    store->buffers_.push_back(std::move(buffer));
  }
  return std::unique_ptr<StateStore>(std::move(store));
}

Result<std::size_t> CpuStateStore::index_of(std::string_view name) const {
  if (const auto place = by_name_.place(name)) return *place;
  return not_found("[state {}] expected a state that the package declares, got an unknown name",
                   name);
}

Result<Tensor> CpuStateStore::read(std::string_view name) const {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t i, index_of(name));
  return Tensor::copy_of({states_[i].dtype, states_[i].shape, buffers_[i]->data()});
}

Status CpuStateStore::write(std::string_view name, const TensorView& value) {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t i, index_of(name));
  const Feature& state = states_[i];
  if (value.dtype != state.dtype || value.shape != state.shape)
    return invalid_argument("[state {}] expected {} {}, got {} {}", name, dtype_name(state.dtype),
                            to_string(state.shape), dtype_name(value.dtype),
                            to_string(value.shape));
  std::memcpy(buffers_[i]->data(), value.data, bytes_of(state));
  return {};
}

Status CpuStateStore::edit(std::string_view name,
                           const std::function<void(const MutableTensorView&)>& edit) {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t i, index_of(name));
  BufferRef& buffer = buffers_[i];
  // A program may have made it the memory of another state, too.
  if (buffer.use_count() != 1) {
    BufferRef own = Buffer::make_zero(bytes_of(states_[i]));
    if (own == nullptr)
      return out_of_memory("[state {}] not enough memory: the state needs {} bytes", name,
                           bytes_of(states_[i]));
    std::memcpy(own->data(), buffer->data(), bytes_of(states_[i]));
    buffer = std::move(own);
  }
  edit({states_[i].dtype, states_[i].shape, buffer->data()});
  return {};
}

void CpuStateStore::reset() {
  for (std::size_t i = 0; i < states_.size(); ++i)
    zero_memory(buffers_[i]->data(), bytes_of(states_[i]));
}

}  // namespace anemone::exec

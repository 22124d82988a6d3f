// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/coreml_state.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "exec/coreml/arrays.h"
#include "exec/coreml/error_map.h"

namespace anemone::exec::coreml {
namespace {

Result<Tensor> make_tensor(const Feature& state) {
  try {
    return Tensor(state.dtype, state.shape);
  } catch (const std::bad_alloc&) {
    return out_of_memory("[state {}] not enough memory for a copy", state.name);
  }
}

}  // namespace

CoreMlStateStore::CoreMlStateStore(std::shared_ptr<CoreMlRuntime> runtime, std::uint64_t owner,
                                   std::vector<Feature> states)
    : runtime_(std::move(runtime)), owner_(owner), states_(std::move(states)) {}

CoreMlStateStore::~CoreMlStateStore() {
  if (handle_ != StateHandle::kNone) runtime_->release(handle_);
}

Result<const Feature*> CoreMlStateStore::find(std::string_view name) const {
  for (const Feature& state : states_)
    if (state.name == name) return &state;
  return not_found("[state {}] expected a state that the package declares, got an unknown name",
                   name);
}

Status CoreMlStateStore::access(const Feature& state,
                                const std::function<Status(const Array&)>& use) const {
  ANEMONE_RETURN_IF_ERROR(reset_failure_);
  Status status;
  // An exception must not leave the callback: there may be frames of Objective-C between.
  const Failure failure = runtime_->access_state(handle_, state.name, [&](const Array& array) {
    try {
      if (array.dtype != state.dtype || array.shape != state.shape ||
          extent_bytes(array.dtype, array.shape, array.strides) > array.bytes)
        status = Status(Code::kDevice,
                        fmt::format("[state {}] expected {} {}, got {} {} from Core ML", state.name,
                                    dtype_name(state.dtype), to_string(state.shape),
                                    dtype_name(array.dtype), to_string(array.shape)));
      else
        status = use(array);
    } catch (const std::bad_alloc&) {
      status = out_of_memory("[state {}] not enough memory to read or write it", state.name);
    }
  });
  if (failure) return map_error(*failure, "state " + state.name, "cannot access").status;
  return status;
}

Result<Tensor> CoreMlStateStore::read(std::string_view name) const {
  ANEMONE_ASSIGN_OR_RETURN(const Feature* state, find(name));
  ANEMONE_ASSIGN_OR_RETURN(Tensor out, make_tensor(*state));
  ANEMONE_RETURN_IF_ERROR(access(*state, [&](const Array& array) -> Status {
    copy_elements(array, array_of(out.mutable_view()));
    return {};
  }));
  return out;
}

Status CoreMlStateStore::write(std::string_view name, const TensorView& value) {
  ANEMONE_ASSIGN_OR_RETURN(const Feature* state, find(name));
  if (value.dtype != state->dtype || value.shape != state->shape)
    return invalid_argument("[state {}] expected {} {}, got {} {}", name, dtype_name(state->dtype),
                            to_string(state->shape), dtype_name(value.dtype),
                            to_string(value.shape));
  return access(*state, [&](const Array& array) -> Status {
    copy_elements(array_of(value), array);
    return {};
  });
}

Status CoreMlStateStore::edit(std::string_view name,
                              const std::function<void(const MutableTensorView&)>& edit) {
  ANEMONE_ASSIGN_OR_RETURN(const Feature* state, find(name));
  return access(*state, [&](const Array& array) -> Status {
    if (is_dense(array)) {
      edit({array.dtype, array.shape, array.data});
      return {};
    }
    ANEMONE_ASSIGN_OR_RETURN(Tensor copy, make_tensor(*state));
    const Array dense = array_of(copy.mutable_view());
    copy_elements(array, dense);
    edit(copy.mutable_view());
    copy_elements(dense, array);
    return {};
  });
}

void CoreMlStateStore::reset() {
  reset_failure_ = {};
  Status status;
  for (const Feature& state : states_) {
    status = access(state, [](const Array& array) -> Status {
      // The padding too: it belongs to nobody else.
      std::fill_n(array.data,
                  static_cast<std::size_t>(extent_bytes(array.dtype, array.shape, array.strides)),
                  std::byte{0});
      return {};
    });
    if (!status.ok()) break;
  }
  reset_failure_ = status;
}

Status CoreMlStateStore::move_to(ModelHandle model, std::uint64_t revision,
                                 std::string_view subject) {
  ANEMONE_RETURN_IF_ERROR(reset_failure_);
  if (states_.empty() || (handle_ != StateHandle::kNone && revision_ == revision)) return {};
  const Outcome<StateHandle> made = runtime_->make_state(model);
  if (!made.ok()) return map_error(made.error(), subject, "cannot make states").status;
  const StateHandle old = handle_;
  Status status;
  for (std::size_t i = 0; i < states_.size() && old != StateHandle::kNone && status.ok(); ++i) {
    handle_ = old;
    const auto value = read(states_[i].name);
    handle_ = *made;
    status = value.ok() ? write(states_[i].name, value->view()) : value.status();
  }
  if (!status.ok()) {
    handle_ = old;
    runtime_->release(*made);
    return status;
  }
  handle_ = *made;
  if (old != StateHandle::kNone) runtime_->release(old);
  revision_ = revision;
  return {};
}

}  // namespace anemone::exec::coreml

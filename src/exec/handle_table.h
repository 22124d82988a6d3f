// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace anemone::exec {

// What a runtime has given handles for: objects of the frameworks, behind an interface that names
// none of their types. `Handle` is an enum class; its value 0 is never given. Thread-safe.
template <typename Handle, typename T>
class HandleTable {
 public:
  Handle add(T object) {
    const std::lock_guard lock(mutex_);
    const Handle handle{++last_};
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // T() where there is none, or none any more.
  T find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? T() : found->second;
  }
  void remove(Handle handle) {
    // The object ends after the lock: its end may take long, or come back here.
    typename std::map<Handle, T>::node_type removed;
    const std::lock_guard lock(mutex_);
    removed = objects_.extract(handle);
  }

 private:
  mutable std::mutex mutex_;
  std::map<Handle, T> objects_;
  std::uint64_t last_ = 0;
};

}  // namespace anemone::exec

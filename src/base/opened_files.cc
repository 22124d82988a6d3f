// SPDX-License-Identifier: Apache-2.0
#include "base/opened_files.h"

#include "base/error.h"

namespace anemone {
namespace {

std::mutex listeners_mutex;
std::set<OpenedFiles*>& listeners() {
  static auto* const all = new std::set<OpenedFiles*>;  // outlives every static object
  return *all;
}

}  // namespace

OpenedFiles::OpenedFiles() {
  const std::lock_guard guard(listeners_mutex);
  listeners().insert(this);
}

OpenedFiles::~OpenedFiles() {
  const std::lock_guard guard(listeners_mutex);
  listeners().erase(this);
}

Status OpenedFiles::check(std::span<const FileIdentity> files) const {
  const std::lock_guard guard(mutex_);
  for (const FileIdentity& file : files) {
    const auto it = seen_.find(file.path);
    if (it != seen_.end() && it->second != std::set{file.text()})
      return io_error("[{}] the file was replaced or changed while it was being read: try again",
                      file.path);
  }
  return {};
}

Status OpenedFiles::note(const Descriptor& file, const std::string& path) {
  const std::lock_guard guard(listeners_mutex);
  if (listeners().empty()) return {};
  ANEMONE_ASSIGN_OR_RETURN(const FileIdentity identity, FileIdentity::of(file, path));
  for (OpenedFiles* const listener : listeners()) {
    const std::lock_guard own(listener->mutex_);
    listener->seen_[path].insert(identity.text());
  }
  return {};
}

}  // namespace anemone

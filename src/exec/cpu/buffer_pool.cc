// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "base/zero_memory.h"
#include "exec/cpu/red_zone.h"

namespace anemone::exec {
namespace {

constexpr std::size_t kAlignment = 64;

// Whole lines of the cache; 0: more than there can be.
std::size_t capacity_for(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return 0;
  return (std::max<std::size_t>(static_cast<std::size_t>(bytes), 1) + kAlignment - 1) / kAlignment *
         kAlignment;
}

}  // namespace

BufferRef Buffer::make(std::uint64_t bytes, std::shared_ptr<MemoryLimit> limit) {
  const std::size_t capacity = capacity_for(bytes);
  if (capacity == 0 || !limit->take(capacity)) return nullptr;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
  if (data == nullptr) {
    limit->give_back(capacity);
    return nullptr;
  }
  forbid(data + bytes, capacity - static_cast<std::size_t>(bytes));
  return BufferRef(new Buffer(data, capacity, std::move(limit)));
}

BufferRef Buffer::make_zero(std::uint64_t bytes) {
  const std::size_t capacity = capacity_for(bytes);
  if (capacity == 0) return nullptr;
  // Not calloc: of a block that was in use before it writes every byte.
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity));
  if (data == nullptr) return nullptr;
  zero_memory(data, capacity);
  return BufferRef(new Buffer(data, capacity, nullptr));
}

Buffer::~Buffer() {
  allow(data_, capacity_);
  if (limit_ != nullptr) limit_->give_back(capacity_);
  std::free(data_);
}

BufferRef BufferPool::take(std::uint64_t bytes) {
  // A buffer more than twice too large stays for an operation that needs it.
  const std::uint64_t most = 2 * bytes + 4096;
  std::size_t best = idle_.size();
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    const std::size_t capacity = idle_[i]->capacity();
    if (capacity < bytes || capacity > most) continue;
    if (best == idle_.size() || capacity < idle_[best]->capacity()) best = i;
  }
  BufferRef out;
  if (best < idle_.size()) {
    out = std::move(idle_[best]);
    idle_[best] = std::move(idle_.back());
    idle_.pop_back();
    allow(out->data(), out->capacity());
    forbid(out->data() + bytes, out->capacity() - static_cast<std::size_t>(bytes));
  } else {
    out = Buffer::make(bytes, limit_);
    if (out == nullptr && !idle_.empty()) {
      idle_.clear();
      out = Buffer::make(bytes, limit_);
    }
  }
  if (out != nullptr) out->last_run_ = run_;
  return out;
}

void BufferPool::give(BufferRef&& buffer) {
  const BufferRef mine = std::move(buffer);
  if (mine == nullptr || mine.use_count() != 1) return;
  mine->last_run_ = run_;
  idle_.push_back(mine);
}

void BufferPool::end_run() {
  std::erase_if(idle_, [&](const BufferRef& buffer) { return buffer->last_run_ != run_; });
  ++run_;
}

}  // namespace anemone::exec

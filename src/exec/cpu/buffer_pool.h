// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exec/cpu/memory_limit.h"

namespace anemone::exec {

// Memory, 64-byte aligned. Shared by the registers and states that view it; it is written
// only by the operation that made it, so views of it never see a change.
class Buffer {
 public:
  // nullptr when the limit or the system has no such memory.
  static std::shared_ptr<Buffer> make(std::uint64_t bytes, std::shared_ptr<MemoryLimit> limit);
  // All zero. Large ones take memory only where something is written, so no limit counts them.
  static std::shared_ptr<Buffer> make_zero(std::uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  friend class BufferPool;
  Buffer(std::byte* data, std::size_t capacity, std::shared_ptr<MemoryLimit> limit)
      : data_(data), capacity_(capacity), limit_(std::move(limit)) {}
  std::byte* data_;
  std::size_t capacity_;
  const std::shared_ptr<MemoryLimit> limit_;  // that it counts for; null: none
  std::uint64_t last_run_ = 0;
};

using BufferRef = std::shared_ptr<Buffer>;

// Memory of values that have no place in the arena of a plan (memory_plan.h says which), and of
// states. Keeps buffers that nobody views any more for the next operation of about the same size.
// Holds at the end of a run what that run needed and no more. Single-thread.
class BufferPool {
 public:
  explicit BufferPool(std::shared_ptr<MemoryLimit> limit) : limit_(std::move(limit)) {}
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }
  // nullptr when out of memory.
  BufferRef take(std::uint64_t bytes);
  // Drops one reference; the buffer is kept for later when it was the last.
  void give(BufferRef&& buffer);
  // Frees what was not used since the last call.
  void end_run();

 private:
  const std::shared_ptr<MemoryLimit> limit_;
  std::vector<BufferRef> idle_;
  std::uint64_t run_ = 1;
};

}  // namespace anemone::exec

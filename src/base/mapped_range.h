// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace anemone {

// Keeps the process alive when a mapped file becomes shorter. Reading a page that the file no
// longer has raises SIGBUS; for a guarded range the signal's handler puts zeros in the place of the
// whole range and notes it, and the read goes on. Code that uses the bytes calls is_cut() before it
// gives away anything that was made of them. Every other SIGBUS goes where it went before.
//
// The first guard installs the handler, for the process and for good. Thread-safe; the range must
// stay mapped as long as its guard lives.
class MappedRange {
 public:
  struct Slot;

  // `mapping` begins at a page, as mmap gives it, and is not empty.
  explicit MappedRange(std::span<const std::byte> mapping);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  // Whether a page of it was missing; stays true.
  bool is_cut() const;

 private:
  Slot* slot_;
};

}  // namespace anemone

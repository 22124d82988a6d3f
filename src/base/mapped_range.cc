// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_range.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace anemone {

// A free slot has the end 0. Slots are never given back to the heap, since a signal handler may be
// looking at them at any time; a new range takes a free one.
struct MappedRange::Slot {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> is_cut = false;
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "used in a signal handler");

struct SlotBlock {
  std::array<MappedRange::Slot, 64> slots;
  std::atomic<SlotBlock*> next = nullptr;
};

SlotBlock first_block;
std::mutex slots_mutex;  // for taking a slot; the signal handler only reads
struct sigaction previous_action = {};

// Runs in a signal handler, so it uses atomics and mmap alone, which is a plain system call.
bool cover(std::uintptr_t address) {
  for (SlotBlock* block = &first_block; block != nullptr;
       block = block->next.load(std::memory_order_acquire))
    for (MappedRange::Slot& slot : block->slots) {
      const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
      const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
      // Another thread may be filling this slot for a new range, which is not the one being read.
      if (address >= end || address < begin || slot.end.load(std::memory_order_acquire) != end)
        continue;
      // The mark is set before the zeros: whoever has read one of them finds the mark.
      slot.is_cut.store(true, std::memory_order_seq_cst);
      return ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ,
                    MAP_PRIVATE | MAP_ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    }
  return false;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  // A signal that somebody sent has no address. (Of its codes only SI_USER of macOS is above 0.)
  const bool is_sent = info->si_code <= 0 || info->si_code == SI_USER;
  const bool is_covered = !is_sent && cover(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (is_covered) return;
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(number, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(number);
  } else {
    // The read is done again on return and ends the process, as it would have.
    ::signal(SIGBUS, SIG_DFL);
    if (is_sent) ::raise(SIGBUS);
  }
}

void install_handler() {
  static const bool is_installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = &on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);  // a macro on macOS
    return ::sigaction(SIGBUS, &action, &previous_action) == 0;
  }();
  (void)is_installed;
}

MappedRange::Slot* take_slot() {
  for (SlotBlock* block = &first_block;; block = block->next.load(std::memory_order_acquire)) {
    for (MappedRange::Slot& slot : block->slots)
      if (slot.end.load(std::memory_order_relaxed) == 0) return &slot;
    if (block->next.load(std::memory_order_relaxed) == nullptr)
      block->next.store(new SlotBlock, std::memory_order_release);
  }
}

}  // namespace

MappedRange::MappedRange(std::span<const std::byte> mapping) {
  install_handler();
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  const std::lock_guard guard(slots_mutex);
  slot_ = take_slot();
  slot_->is_cut.store(false, std::memory_order_relaxed);
  slot_->begin.store(begin, std::memory_order_release);
  slot_->end.store(begin + (mapping.size() + page - 1) / page * page, std::memory_order_release);
}

MappedRange::~MappedRange() {
  const std::lock_guard guard(slots_mutex);
  slot_->end.store(0, std::memory_order_release);
}

bool MappedRange::is_cut() const {
  return slot_->is_cut.load(std::memory_order_seq_cst);
}

}  // namespace anemone

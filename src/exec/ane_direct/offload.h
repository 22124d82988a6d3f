// SPDX-License-Identifier: Apache-2.0
// Takes the products of the CPU engine to the Neural Engine, one kernel per matrix: the
// graphs of anemone have what shares activations in one matrix already.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>

#include "exec/ane_direct/device.h"
#include "exec/cpu/product_offload.h"

namespace anemone::exec::ane_direct {

// A kernel is made when its matrix is first offered, and compared with the CPU engine. What the
// chip does not take, what it computes otherwise, and what comes after the last compilation of the
// process stays on the CPU; so does a kernel once a run of it has failed. Thread-safe.
class KernelOffload : public ProductOffload {
 public:
  struct Counts {
    int kernels = 0;  // that were made
    int refused = 0;  // that stayed on the CPU: the chip did not take them, or not as it should
    int left = 0;     // that stayed there because the process may compile no more
    int failed = 0;   // that went back to it after a failed run
  };

  // `on_note` is told of every kernel that stays on the CPU or goes back to it; may be null.
  KernelOffload(std::shared_ptr<const Device> device,
                std::function<void(std::string_view)> on_note = {});

  std::shared_ptr<const OffloadedProduct> offer(const ProductOffer& product) override;
  Counts counts() const;

 private:
  class Taken;
  // The counts and the notes, which kernels that outlive the object still use.
  class Journal;
  using Key = std::tuple<const void*, const void*, std::int64_t, std::int64_t>;

  const std::shared_ptr<const Device> device_;
  const std::shared_ptr<Journal> journal_;
  std::mutex mutex_;  // of what follows
  std::map<Key, std::weak_ptr<const OffloadedProduct>> taken_;
  std::set<Key> refused_;  // not tried again, since each try is a compilation
};

}  // namespace anemone::exec::ane_direct

// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/offload.h"

#include <atomic>
#include <fmt/format.h>
#include <utility>

#include "exec/ane_direct/kernel.h"

namespace anemone::exec::ane_direct {

class KernelOffload::Journal {
 public:
  explicit Journal(std::function<void(std::string_view)> on_note) : on_note_(std::move(on_note)) {}

  void add(int Counts::*which, std::string_view text = "") {
    const std::lock_guard lock(mutex_);
    ++(counts_.*which);
    if (!text.empty() && on_note_ != nullptr) on_note_(text);
  }
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  const std::function<void(std::string_view)> on_note_;
  mutable std::mutex mutex_;  // of what follows, and one note at a time
  Counts counts_;
};

class KernelOffload::Taken : public OffloadedProduct {
 public:
  Taken(std::unique_ptr<Kernel> kernel, std::shared_ptr<Journal> journal)
      : kernel_(std::move(kernel)), journal_(std::move(journal)) {}

  bool run(const ProductTokens<const Half>& x, std::int64_t count,
           const ProductTokens<Half>& y) const override {
    if (has_failed_) return false;
    const Columns<Half> output{y.data, y.channel_stride, y.token_stride};
    const Status status =
        kernel_->run({x.data, x.channel_stride, x.token_stride}, count, {&output, 1});
    if (status.ok()) return true;
    // What failed once may fail at any step, and its time is lost each time.
    if (!has_failed_.exchange(true))
      journal_->add(&Counts::failed,
                    fmt::format("{}: the CPU computes it from now on", status.message()));
    return false;
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const std::shared_ptr<Journal> journal_;
  mutable std::atomic<bool> has_failed_ = false;
};

KernelOffload::KernelOffload(std::shared_ptr<const Device> device,
                             std::function<void(std::string_view)> on_note)
    : device_(std::move(device)), journal_(std::make_shared<Journal>(std::move(on_note))) {}

std::shared_ptr<const OffloadedProduct> KernelOffload::offer(const ProductOffer& product) {
  const std::lock_guard lock(mutex_);
  const Key key(product.weights_key(), product.bias_key(), product.rows(), product.k());
  std::weak_ptr<const OffloadedProduct>& known = taken_[key];
  if (auto taken = known.lock()) return taken;
  if (refused_.contains(key)) return nullptr;
  // Before the weights are made, which may be large.
  if (product.rows() > kMostChannels || product.k() > kMostChannels) {
    journal_->add(&Counts::refused);
    return nullptr;
  }
  if (device_->budget().left() <= 0) {
    journal_->add(&Counts::left);
    return nullptr;
  }
  KernelSpec spec{.name = fmt::format("product [{}, {}]", product.rows(), product.k()),
                  .matrices = {}};
  spec.matrices.push_back({product.weights(), product.bias()});
  auto kernel = Kernel::make(device_, std::move(spec));
  if (!kernel.ok()) {
    refused_.insert(key);
    journal_->add(&Counts::refused,
                  fmt::format("{}: the CPU computes it", kernel.status().message()));
    return nullptr;
  }
  journal_->add(&Counts::kernels);
  auto taken = std::make_shared<const Taken>(std::move(*kernel), journal_);
  known = taken;
  return taken;
}

KernelOffload::Counts KernelOffload::counts() const {
  return journal_->counts();
}

}  // namespace anemone::exec::ane_direct

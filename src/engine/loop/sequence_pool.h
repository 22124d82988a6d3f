// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/session/sequence.h"

namespace anemone::engine {

// The sequences that no text runs in, of all models: a text that ended leaves its sequence here, so
// that one which begins with the same tokens need not read them again (prefix cache). Caches of
// running and parked sequences share one bound of memory; the parked sequence that was not used for
// longest goes first. Single-thread.
class SequencePool {
 public:
  explicit SequencePool(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // A sequence that is ready for a text which begins with `ids`: what it holds already need not be
  // run. `running` are those of the same model that run; `running_bytes` is the memory of all that
  // run. Where another sequence has a part of the text, that part is copied; or the sequence
  // itself is taken, when the text goes on where it ends, or memory is scarce.
  Result<std::unique_ptr<Sequence>> take(const std::shared_ptr<const Model>& model,
                                         std::span<const std::int32_t> ids,
                                         std::span<Sequence* const> running,
                                         std::uint64_t running_bytes);
  // How many of `ids` take() would find in a sequence.
  std::int64_t reusable(const Model& model, std::span<const std::int32_t> ids,
                        std::span<Sequence* const> running = {}) {
    return find(model, ids, running).count;
  }
  // Keeps a sequence whose text has ended, if there is anything in it.
  void park(std::unique_ptr<Sequence> sequence);
  // Drops the parked sequences of a model.
  void drop(const Model& model);
  // Drops parked sequences until all fit beside what runs.
  void trim(std::uint64_t running_bytes);

  std::size_t parked() const { return parked_.size(); }
  std::uint64_t bytes() const { return bytes_; }  // of the parked ones

 private:
  using Parked = std::list<std::unique_ptr<Sequence>>;  // the one that was used last at the end
  // The sequence that holds most of a text.
  struct Found {
    Sequence* sequence = nullptr;  // null: none holds any
    Parked::iterator parked;       // the end: it runs
    std::int64_t count = 0;        // tokens of the text
  };
  Found find(const Model& model, std::span<const std::int32_t> ids,
             std::span<Sequence* const> running);
  std::unique_ptr<Sequence> remove(Parked::iterator it);

  const std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  Parked parked_;
};

}  // namespace anemone::engine

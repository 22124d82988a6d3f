// SPDX-License-Identifier: Apache-2.0
// What a sequence keeps from step to step: keys and values by position, and recurrent states, in
// whatever form the packages of its model have them. Single-thread; the programs outlive it.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "exec/cache_binding.h"
#include "exec/executor.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// One cache of a package.
struct CacheLayout {
  enum class Kind {
    kState,    // in the StateStore, by name
    kReplace,  // a tensor that goes in as `name` and comes out as `output`
    kAppend,   // a tensor that goes in as `name`; `output` has the rows of the step
    kGrow,     // kAppend, but a step takes as many positions as the tensor has now, and that grows
  };
  std::string name;
  std::string output;
  DType dtype = DType::kFp16;
  // [1, heads, positions, dim], or any shape of a recurrent state.
  Shape shape;
  Kind kind = Kind::kState;
  bool is_recurrent = false;  // it stands for all tokens so far; kState or kReplace
  std::int64_t window = 0;    // kAppend, kGrow: exec::CacheBinding::window
  std::int64_t most = 0;      // kGrow: the most positions that a function takes
};

class KvCache {
 public:
  struct Package {
    const exec::LoadedProgram* program = nullptr;
    std::vector<CacheLayout> caches;
  };

  // The room of growing caches is a power of two of positions, at least this and at most the
  // context. A step takes the whole room as its past, so Core ML, which prepares for every new
  // shape, meets few shapes. The cache has exactly the shape that a run takes, so nothing is copied
  // for it.
  static constexpr std::int64_t kLeastRoom = 16;

  KvCache() = default;  // of no packages, to be assigned to
  // Empty ones. kOutOfMemory.
  static Result<KvCache> make(std::vector<Package> packages);
  // For every shard of a model.
  static Result<KvCache> make(const Model& model);

  // Tokens that the caches stand for.
  std::int64_t length() const { return length_; }
  bool is_recurrent() const { return is_recurrent_; }

  // Makes room for this many positions, at most the context, before the steps that store them. Only
  // growing caches need it: it copies what they hold, once for each doubling. kOutOfMemory; then
  // nothing has changed.
  Status reserve(std::int64_t positions);
  // How many positions a step takes of a cache of `context` positions.
  std::int64_t taken_positions(std::int64_t context) const;

  // What a step of `count` tokens at `position` gives to the run of a package. The bindings are
  // valid as long as the caches.
  exec::StateStore* states(std::size_t package) { return packages_[package].states.get(); }
  std::vector<exec::CacheBinding> bindings(std::size_t package, std::int64_t position,
                                           std::int64_t count);

  // A step has stored `count` tokens at `position`, 0 <= position <= length(); those that were
  // after it are gone.
  void append(std::int64_t position, std::int64_t count);
  // Drops all tokens but the first `length`, 0 <= length <= length(). kUnsupported where recurrent
  // states stand for the others, too: restore() a snapshot, or clear().
  Status truncate(std::int64_t length);
  // Becomes the first `positions` tokens of another cache of the same model, 0 <= positions <=
  // from.length(). Costs what is copied. kUnsupported where recurrent states stand for more tokens;
  // then nothing has changed. After another error the cache has to be cleared.
  Status copy_prefix(KvCache& from, std::int64_t positions);

  // The recurrent states after length() tokens.
  struct Snapshot {
    std::int64_t length = 0;
    std::vector<Tensor> states;
    std::uint64_t bytes() const;
  };
  Result<Snapshot> snapshot();
  // Becomes what it was at the snapshot, whose tokens must still be there: kInvalidArgument where
  // they are more than length().
  Status restore(const Snapshot& snapshot);

  // Zero everywhere and without room, as at the start, in a time that follows the memory that was
  // written.
  void clear();
  // Memory of the tokens that are there, and of the recurrent states.
  std::uint64_t bytes() const;

 private:
  struct Held {
    std::unique_ptr<exec::StateStore> states;
    std::vector<CacheLayout> layouts;
    std::vector<Tensor> tensors;  // one for each layout; empty for states and without any room
  };
  using Edit = std::function<void(const MutableTensorView&)>;

  // Calls `edit` with the elements of a cache.
  static Status edit(Held& held, std::size_t cache, const Edit& edit);

  std::vector<Held> packages_;
  bool is_recurrent_ = false;
  bool is_growing_ = false;
  std::int64_t length_ = 0;
  std::int64_t room_ = 0;  // of growing caches
};

}  // namespace anemone::engine

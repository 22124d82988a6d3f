// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "ir/program.h"
#include "mlpackage/blob.h"

namespace anemone::mlpackage {

// Which constants of a program go into the weight file, and where: functions in order, operations
// in order, each Data object once. Nothing is loaded to find out. Holds pointers into the program.
class ConstantPlan {
 public:
  static Result<ConstantPlan> make(const ir::Program& program, int specification_version);

  const BlobPlan& blobs() const { return blobs_; }
  // Offset of the blob of a literal; nullopt when it stays in the model file.
  std::optional<std::uint64_t> offset(const ir::Literal& literal) const;
  // Offset in the file of the first byte of its data.
  std::optional<std::uint64_t> data_offset(const ir::Literal& literal) const;

  // Loads each constant and writes it to `path`, over `pool` (nullptr: on this thread), with at
  // most `max_bytes_in_flight` loaded at a time. `progress` gets the bytes done and the total.
  // kCancelled soon after `cancel` (may be null) is set.
  Status write(const std::string& path, ThreadPool* pool, std::uint64_t max_bytes_in_flight,
               const std::function<void(std::uint64_t, std::uint64_t)>& progress,
               const std::atomic<bool>* cancel) const;

 private:
  // The same bytes may stand for tensors of several types; each gets a blob of its own.
  using Key = std::tuple<const ir::Data*, DType, std::int64_t>;
  static Key key_of(const ir::Literal& literal);

  Status add_block(const ir::Block& block);
  Status add(const ir::Literal& literal);
  bool belongs_in_file(const ir::Literal& literal) const;

  bool is_wide_ = false;  // specification version 9 and later: all integers of up to 32 bits
  BlobPlan blobs_;
  std::vector<const ir::Data*> sources_;  // parallel to blobs_.entries()
  std::map<Key, std::uint64_t> offsets_;
};

}  // namespace anemone::mlpackage

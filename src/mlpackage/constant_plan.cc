// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/constant_plan.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>

#include "base/error.h"

namespace anemone::mlpackage {
namespace {

// Smaller constants are cheaper inside the model file; coremltools draws the line here.
constexpr std::int64_t kMinBlobElements = 10;

// Lets threads in while their bytes together stay under the limit; one alone is always let in.
class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t limit) : limit_(limit) {}

  void enter(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    free_.wait(
        lock, [&] { return in_flight_ == 0 || (bytes <= limit_ && in_flight_ <= limit_ - bytes); });
    // A constant without bytes counts as 1, so that it is known to be in flight.
    in_flight_ += std::max<std::uint64_t>(bytes, 1);
  }
  void leave(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      in_flight_ -= std::max<std::uint64_t>(bytes, 1);
    }
    free_.notify_all();
  }

 private:
  const std::uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::uint64_t in_flight_ = 0;
};

}  // namespace

Result<ConstantPlan> ConstantPlan::make(const ir::Program& program, int specification_version) {
  ConstantPlan plan;
  plan.is_wide_ = specification_version >= 9;
  for (const ir::Function* function : program.functions())
    ANEMONE_RETURN_IF_ERROR(plan.add_block(*function->block).with("function " + function->name));
  return plan;
}

ConstantPlan::Key ConstantPlan::key_of(const ir::Literal& literal) {
  return {literal.data().get(), literal.type().dtype, element_count(literal.type().shape)};
}

std::optional<std::uint64_t> ConstantPlan::offset(const ir::Literal& literal) const {
  if (literal.data() == nullptr) return std::nullopt;
  const auto it = offsets_.find(key_of(literal));
  if (it == offsets_.end()) return std::nullopt;
  return it->second;
}

std::optional<std::uint64_t> ConstantPlan::data_offset(const ir::Literal& literal) const {
  const auto record = offset(literal);
  if (!record) return std::nullopt;
  const auto it =
      std::ranges::lower_bound(blobs_.entries(), *record, {}, &BlobPlan::Entry::record_offset);
  return it->record.data_offset;
}

bool ConstantPlan::belongs_in_file(const ir::Literal& literal) const {
  if (literal.data() == nullptr) return false;
  if (element_count(literal.type().shape) < kMinBlobElements) return false;
  switch (literal.type().dtype) {
    case DType::kFp16:
    case DType::kFp32:
    case DType::kUInt8:
    case DType::kInt8:
      return true;
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kInt32:
    case DType::kUInt32:
      return is_wide_;
    default:
      return is_wide_ && is_sub_byte(literal.type().dtype);
  }
}

Status ConstantPlan::add(const ir::Literal& literal) {
  if (literal.data() != nullptr) {
    // The counts below are taken without further checks.
    ANEMONE_RETURN_IF_ERROR(checked_element_count(literal.type().shape).status());
  }
  if (!belongs_in_file(literal)) return {};
  const Key key = key_of(literal);
  if (offsets_.contains(key)) return {};
  const auto elements = static_cast<std::uint64_t>(std::get<2>(key));
  const std::uint64_t bytes = dtype_bytes(literal.type().dtype, elements);
  if (literal.data()->size_bytes() != bytes)
    return internal_error("expected {} bytes for a {}, got {}", bytes, to_string(literal.type()),
                          literal.data()->size_bytes());
  offsets_.emplace(key, blobs_.add(literal.type().dtype, elements));
  sources_.push_back(literal.data().get());
  return {};
}

Status ConstantPlan::add_block(const ir::Block& block) {
  for (const ir::Op* op : block.ops) {
    const auto where = [&] { return op->type + " \"" + op->name + "\""; };
    for (const auto& [name, literal] : op->attributes)
      if (Status status = add(literal); !status.ok()) return status.with(where());
    for (const auto& [name, arguments] : op->inputs)
      for (const ir::Argument& argument : arguments)
        if (const auto* literal = std::get_if<ir::Literal>(&argument))
          if (Status status = add(*literal); !status.ok()) return status.with(where());
    for (const ir::Block* inner : op->blocks) ANEMONE_RETURN_IF_ERROR(add_block(*inner));
  }
  return {};
}

Status ConstantPlan::write(const std::string& path, ThreadPool* pool,
                           std::uint64_t max_bytes_in_flight,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                           const std::atomic<bool>* cancel) const {
  ANEMONE_ASSIGN_OR_RETURN(BlobWriter file, BlobWriter::create(path, blobs_));
  MemoryGate gate(max_bytes_in_flight);
  std::atomic<bool> has_failed = false;
  std::mutex mutex;  // for what follows
  Status error;
  std::size_t error_index = std::numeric_limits<std::size_t>::max();
  std::uint64_t done = 0;

  const auto write_one = [&](const BlobPlan::Entry& entry, const ir::Data& source) -> Status {
    if (cancel != nullptr && *cancel)
      return cancelled("[{}] cancelled while writing the constants", path);
    ANEMONE_ASSIGN_OR_RETURN(const ir::DataBytes data, source.load());
    return file.write(entry, data.bytes);
  };
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (has_failed) return;
      const BlobPlan::Entry& entry = blobs_.entries()[i];
      gate.enter(entry.record.size_bytes);
      Status status = write_one(entry, *sources_[i]);
      gate.leave(entry.record.size_bytes);
      const std::lock_guard lock(mutex);
      if (status.ok()) {
        done += entry.record.size_bytes;
        if (progress) progress(done, blobs_.data_bytes());
      } else if (i < error_index) {
        error_index = i;
        error = std::move(status);
        has_failed = true;
      }
    }
  };
  const auto count = static_cast<std::int64_t>(sources_.size());
  if (pool != nullptr) {
    pool->parallel_for(count, 1, body);
  } else {
    body(0, count);
  }
  ANEMONE_RETURN_IF_ERROR(error);
  return file.commit();
}

}  // namespace anemone::mlpackage

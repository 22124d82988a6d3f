// SPDX-License-Identifier: Apache-2.0
#include "engine/session/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {
namespace {

// Each takes the memory of all recurrent states, whatever its length.
constexpr std::size_t kMaxSnapshots = 4;

}  // namespace

std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

Result<std::unique_ptr<Sequence>> Sequence::create(std::shared_ptr<const Model> model) {
  ANEMONE_RETURN_IF_ERROR(model->check_generates());
  std::unique_ptr<Sequence> sequence(new Sequence(std::move(model)));
  ANEMONE_ASSIGN_OR_RETURN(sequence->caches_, KvCache::make(*sequence->model_));
  return sequence;
}

Sequence::Sequence(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

Prediction Sequence::prediction() const {
  return prediction_back(0);
}

Prediction Sequence::prediction_at(std::int64_t position) const {
  return prediction_back(this->position() - 1 - position);
}

Prediction Sequence::prediction_back(std::int64_t back) const {
  ANEMONE_CHECK(back >= 0);
  const auto skipped = static_cast<std::size_t>(back);
  Prediction out;
  if (skipped < logit_rows_) out.row = &rows_[logit_rows_ - 1 - skipped].view;
  if (skipped < argmaxes_.size()) out.argmax = argmaxes_[argmaxes_.size() - 1 - skipped];
  return out;
}

void Sequence::drop_prediction() {
  clear_logits();
  std::vector<Row>().swap(rows_);
}

void Sequence::clear_logits() {
  logit_rows_ = 0;
  argmaxes_.clear();
}

std::int64_t Sequence::reusable(std::span<const std::int32_t> ids) const {
  if (ids.empty() || is_damaged_) return 0;
  const auto length = static_cast<std::int64_t>(ids.size());
  if (!model_->manifest().has_same_ropes(length_, length)) return 0;
  const std::int64_t common = common_prefix(tokens_, ids);
  if (common < length && (can_be_truncated() || common == position())) return common;
  if (can_be_truncated()) return length - 1;
  const Snapshot* snapshot = snapshot_within(common);
  if (snapshot != nullptr && snapshot->length() == length && !snapshot->has_prediction())
    snapshot = snapshot_within(length - 1);
  return snapshot == nullptr ? 0 : snapshot->length();
}

const Sequence::Snapshot* Sequence::snapshot_within(std::int64_t tokens) const {
  const Snapshot* last = nullptr;
  for (const Snapshot& snapshot : snapshots_)
    if (snapshot.length() <= tokens) last = &snapshot;
  return last;
}

Status Sequence::take_snapshot() {
  if (can_be_truncated() || is_damaged_) return {};
  if (!snapshots_.empty() && snapshots_.back().length() == position()) return {};
  Snapshot snapshot;
  ANEMONE_ASSIGN_OR_RETURN(snapshot.states, caches_.snapshot());
  const Prediction last = prediction();
  if (last.row != nullptr)
    snapshot.logits.assign(last.row->logits().begin(), last.row->logits().end());
  snapshot.argmax = last.argmax;
  if (snapshots_.size() == kMaxSnapshots) snapshots_.erase(snapshots_.begin());
  snapshots_.push_back(std::move(snapshot));
  return {};
}

void Sequence::predict_as(const Snapshot* snapshot) {
  if (snapshot == nullptr || snapshot->length() != position()) return;
  clear_logits();
  if (!snapshot->logits.empty())
    add_logits([&](std::span<float> row) { std::ranges::copy(snapshot->logits, row.begin()); });
  if (snapshot->argmax) argmaxes_.push_back(*snapshot->argmax);
}

std::uint64_t Sequence::bytes() const {
  std::uint64_t bytes = caches_.bytes();
  for (const Snapshot& snapshot : snapshots_)
    bytes += snapshot.states.bytes() + snapshot.logits.size() * sizeof(float);
  return bytes;
}

void Sequence::prepare(std::int64_t length) {
  const bool is_valid =
      !is_damaged_ && (tokens_.empty() || model_->manifest().has_same_ropes(length_, length));
  length_ = length;
  if (!is_valid) clear();
}

void Sequence::truncate(std::int64_t position) {
  ANEMONE_CHECK(position >= 0 && position <= this->position());
  const Snapshot* const snapshot = snapshot_within(position);
  if (position == this->position()) return predict_as(snapshot);
  if (!can_be_truncated()) {
    if (snapshot == nullptr || !caches_.restore(snapshot->states).ok()) return clear();
    position = snapshot->length();
    std::erase_if(snapshots_, [&](const auto& other) { return other.length() > position; });
  } else if (!caches_.truncate(position).ok()) {
    return clear();
  }
  clear_logits();
  tokens_.resize(static_cast<std::size_t>(position));
  predict_as(snapshot);
}

Status Sequence::copy_prefix(Sequence& other, std::int64_t count) {
  ANEMONE_CHECK(&other != this && other.model_ == model_ && !other.is_damaged_);
  ANEMONE_CHECK(count >= 0 && count <= other.position());
  clear();
  is_damaged_ = true;
  const Snapshot* const snapshot = other.snapshot_within(count);
  if (can_be_truncated() || count == other.position()) {
    ANEMONE_RETURN_IF_ERROR(caches_.copy_prefix(other.caches_, count));
  } else {
    ANEMONE_CHECK(snapshot != nullptr && snapshot->length() == count);
    ANEMONE_RETURN_IF_ERROR(caches_.copy_prefix(other.caches_, other.caches_.length()));
    ANEMONE_RETURN_IF_ERROR(caches_.restore(snapshot->states));
  }
  is_damaged_ = false;
  tokens_.assign(other.tokens_.begin(), other.tokens_.begin() + count);
  length_ = other.length_;
  predict_as(snapshot);
  return {};
}

void Sequence::clear() {
  snapshots_.clear();
  tokens_.clear();
  clear_logits();
  caches_.clear();
  is_damaged_ = false;
}

std::uint64_t Sequence::cache_bytes(const Model& model, std::int64_t tokens) {
  std::uint64_t bytes = 0;
  for (const artifact::Shard& shard : model.manifest().shards)
    for (const artifact::Cache& cache : shard.caches) {
      const std::uint64_t all =
          dtype_bytes(cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape)));
      bytes += cache.is_recurrent ? all
                                  : all / static_cast<std::uint64_t>(cache.positions()) *
                                        static_cast<std::uint64_t>(tokens);
    }
  return bytes;
}

}  // namespace anemone::engine

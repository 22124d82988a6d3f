// SPDX-License-Identifier: Apache-2.0
#include "engine/session/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {

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
  return {has_logits_ ? std::span<const float>(logits_) : std::span<const float>(), argmax_};
}

void Sequence::drop_prediction() {
  forget_prediction();
  std::vector<float>().swap(logits_);
}

void Sequence::forget_prediction() {
  has_logits_ = false;
  argmax_.reset();
}

std::int64_t Sequence::reusable(std::span<const std::int32_t> ids) const {
  if (ids.empty() || is_damaged_) return 0;
  const auto length = static_cast<std::int64_t>(ids.size());
  if (!model_->manifest().has_same_ropes(length_, length)) return 0;
  const std::int64_t common = common_prefix(tokens_, ids.first(ids.size() - 1));
  return !can_be_cut() && common < position() ? 0 : common;
}

void Sequence::prepare(std::int64_t length) {
  const bool is_valid =
      !is_damaged_ && (tokens_.empty() || model_->manifest().has_same_ropes(length_, length));
  length_ = length;
  if (!is_valid) clear();
}

void Sequence::truncate(std::int64_t position) {
  ANEMONE_CHECK(position >= 0 && position <= this->position());
  if (position == this->position()) return;
  if (!caches_.truncate(position).ok()) return clear();
  forget_prediction();
  tokens_.resize(static_cast<std::size_t>(position));
}

Status Sequence::copy_prefix(Sequence& other, std::int64_t count) {
  ANEMONE_CHECK(&other != this && other.model_ == model_ && !other.is_damaged_);
  ANEMONE_CHECK(count >= 0 && count <= other.position());
  clear();
  is_damaged_ = true;
  ANEMONE_RETURN_IF_ERROR(caches_.copy_prefix(other.caches_, count));
  is_damaged_ = false;
  tokens_.assign(other.tokens_.begin(), other.tokens_.begin() + count);
  length_ = other.length_;
  return {};
}

void Sequence::clear() {
  tokens_.clear();
  forget_prediction();
  caches_.clear();
  is_damaged_ = false;
}

std::uint64_t Sequence::cache_bytes(const Model& model, std::int64_t tokens) {
  std::uint64_t bytes = 0;
  const auto context = static_cast<std::uint64_t>(model.context());
  for (const artifact::Shard& shard : model.manifest().shards)
    for (const artifact::Cache& cache : shard.caches) {
      const std::uint64_t all =
          dtype_bytes(cache.dtype, static_cast<std::uint64_t>(element_count(cache.shape)));
      bytes += !cache.is_recurrent ? all * static_cast<std::uint64_t>(tokens) / context : all;
    }
  return bytes;
}

}  // namespace anemone::engine

// SPDX-License-Identifier: Apache-2.0
// From the hidden states of a pass to logits: which columns go into the heads, and what the heads
// gave.
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "engine/session/logit_check.h"
#include "engine/session/step_runner.h"

namespace anemone::engine {
namespace {

// Copies column `column` of [1, channels, tokens, 1] to [1, channels, 1, 1] of the same dtype.
template <typename T>
void copy_column(const TensorView& from, std::int64_t column, const MutableTensorView& to) {
  const auto source = from.as<T>();
  const auto target = to.as<T>();
  const std::size_t tokens = source.size() / target.size();
  for (std::size_t c = 0; c < target.size(); ++c)
    target[c] = source[c * tokens + static_cast<std::size_t>(column)];
}

// Elements first, first + stride, ... as floats.
template <typename T>
void take_strided(const TensorView& from, std::size_t first, std::size_t stride,
                  std::span<float> out) {
  const auto values = from.as<T>();
  if constexpr (std::is_same_v<T, Half>) {
    if (stride == 1) return to_floats(values.subspan(first, out.size()), out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_float(values[first + i * stride]);
  } else {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[first + i * stride];
  }
}

void take_strided(const TensorView& from, std::size_t first, std::size_t stride,
                  std::span<float> out) {
  if (from.dtype == DType::kFp16)
    take_strided<Half>(from, first, stride, out);
  else
    take_strided<float>(from, first, stride, out);
}

// Makes `column` hold one column of the hidden states.
void take_column(const TensorView& hidden, std::int64_t index, const artifact::Manifest& manifest,
                 Tensor& column) {
  if (column.empty() || column.dtype() != hidden.dtype)
    column =
        Tensor(hidden.dtype, artifact::hidden_shape(manifest.form.layout, manifest.hidden_size, 1));
  if (hidden.dtype == DType::kFp16)
    copy_column<Half>(hidden, index, column.mutable_view());
  else
    copy_column<float>(hidden, index, column.mutable_view());
}

}  // namespace

const Bucket& StepRunner::smallest_bucket() const {
  return *std::ranges::find_if(buckets_, [](const Bucket& candidate) {
    return candidate.max_width() == 1 || candidate.is_flexible();
  });
}

// A pass of several tokens needs the heads for one column of each item only, or for the last chunks
// of an item with several predictions.
Status StepRunner::predict_last(const Bucket& bucket) {
  // They have given the logits of all tokens of a chunk.
  const bool has_head_inside = model_->manifest().has_head_inside();
  std::vector<Chunk> chunks;
  std::vector<const Part*> parts;  // of each chunk
  if (columns_.size() < parts_.size()) columns_.resize(parts_.size());
  for (const Part& part : parts_) {
    if (part.item->on_logits != nullptr || part.item->on_hidden != nullptr) continue;
    if (part.item->predictions > 1 && bucket.width() > 1) continue;  // predict_several()
    for (Chunk chunk : std::span(chunks_).subspan(part.first_chunk, part.chunks)) {
      if (!chunk.is_read) continue;
      if (bucket.width() != 1 && !has_head_inside) {
        Tensor& column = columns_[parts.size()];
        take_column(chunk.hidden, part.last_count - 1, model_->manifest(), column);
        chunk.hidden = column.view();
      }
      chunks.push_back(chunk);
      parts.push_back(&part);
    }
  }
  if (chunks.empty()) return {};
  ANEMONE_RETURN_IF_ERROR(
      run_heads(*model_, smallest_bucket().plan().head_function, 1, chunks, observer_));
  const auto gather_chunk = [&](std::size_t i) {
    StepItem& item = *parts[i]->item;
    if (!item.status.ok()) return;
    const StepInputs& inputs = *chunks[i].host_inputs;
    Column last{.chunk = &chunks[i], .position = inputs.position() + inputs.count() - 1};
    if (has_head_inside) {
      last.tokens = inputs.tokens();
      last.index = inputs.count() - 1;
    }
    item.status = gather(last, *item.sequence);
    // The caches may hold NaN, too.
    if (!item.status.ok()) item.sequence->clear();
  };
  // The predictions of one item are added in order, so one thread takes them all.
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i == 0 || parts[i] != parts[i - 1]) firsts.push_back(i);
  model_->shard(0).for_each(firsts.size(), [&](std::size_t k) {
    const std::size_t end = k + 1 < firsts.size() ? firsts[k + 1] : parts.size();
    for (std::size_t i = firsts[k]; i < end; ++i) gather_chunk(i);
  });
  return {};
}

Status StepRunner::predict_several(const Bucket& bucket, const Part& part) {
  const Chunk& chunk = chunks_[part.first_chunk];
  ANEMONE_CHECK(part.chunks == 1 && part.count == std::ssize(part.item->ids));
  const std::int64_t width = bucket.width();
  ANEMONE_RETURN_IF_ERROR(
      run_heads(*model_, bucket.plan().head_function, width, std::span(&chunk, 1), observer_));
  Sequence& sequence = *part.item->sequence;
  for (std::int64_t t = part.count - part.item->predictions; t < part.count; ++t) {
    Status status = gather({&chunk, width, t, sequence.position() + t}, sequence);
    if (status.ok()) continue;
    sequence.clear();
    return status;
  }
  return {};
}

Status StepRunner::predict_all(const Bucket& bucket, const Part& part) {
  const auto chunks = std::span(chunks_).subspan(part.first_chunk, part.chunks);
  ANEMONE_RETURN_IF_ERROR(
      run_heads(*model_, bucket.plan().head_function, bucket.width(), chunks, observer_));
  Sequence& sequence = *part.item->sequence;
  row_.resize(static_cast<std::size_t>(model_->vocab_size()));
  for (std::int64_t t = 0; t < part.count; ++t) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(t / bucket.width())];
    gather_logits(*chunk.outputs, bucket.width(), t % bucket.width(), row_);
    const std::int64_t position = sequence.position() + t;
    if (Status status = check_logits(row_, model_->manifest().name, position); !status.ok()) {
      sequence.clear();
      return status;
    }
    ANEMONE_RETURN_IF_ERROR((*part.item->on_logits)(position, row_));
  }
  // The last row is the prediction, if it is one of the last token.
  if (part.count == static_cast<std::int64_t>(part.item->ids.size())) {
    sequence.add_logits([&](std::span<float> row) { std::ranges::copy(row_, row.begin()); });
  }
  return {};
}

Status StepRunner::give_hidden(const Bucket& bucket, const Part& part) {
  const auto chunks = std::span(chunks_).subspan(part.first_chunk, part.chunks);
  const artifact::Manifest& manifest = model_->manifest();
  const std::int64_t width = bucket.width();
  ANEMONE_RETURN_IF_ERROR(run_embed(*model_, bucket.plan().head_function, width, chunks));
  Sequence& sequence = *part.item->sequence;
  row_.resize(static_cast<std::size_t>(manifest.hidden_size));
  for (std::int64_t t = 0; t < part.count; ++t) {
    const exec::Outputs& outputs = chunks[static_cast<std::size_t>(t / width)].outputs->embed;
    take_strided(exec::find_output(outputs, manifest.embed->output)->view(),
                 static_cast<std::size_t>(t % width), static_cast<std::size_t>(width), row_);
    const std::int64_t position = sequence.position() + t;
    if (std::ranges::any_of(row_, [](float value) { return std::isnan(value); })) {
      sequence.clear();  // the caches may hold NaN, too
      return corrupt("[{}] the hidden state at position {} cannot be used: it holds NaN",
                     manifest.name, position);
    }
    ANEMONE_RETURN_IF_ERROR((*part.item->on_hidden)(position, row_));
  }
  return {};
}

Status StepRunner::gather(const Column& column, Sequence& sequence) {
  if (model_->manifest().is_greedy()) return gather_argmax(column, sequence);
  const LogitRow& row = sequence.add_logits([&](std::span<float> logits) {
    gather_logits(*column.chunk->outputs, column.tokens, column.index, logits);
  });
  return check_logits(row, model_->manifest().name, column.position);
}

// Takes the highest of the logits that the heads give for a token.
Status StepRunner::gather_argmax(const Column& column, Sequence& sequence) {
  const artifact::Manifest& manifest = model_->manifest();
  const StepOutputs& outputs = *column.chunk->outputs;
  const std::int64_t position = column.position;
  const auto at = static_cast<std::size_t>(column.index);
  // The heads give only their largest logit, which may be a number when others are NaN. So the
  // hidden state that enters them is checked.
  Tensor one;
  TensorView entering = column.chunk->hidden;
  if (column.tokens > 1) {
    take_column(entering, column.index, manifest, one);
    entering = one.view();
  }
  const std::vector<float> hidden = to_floats(entering);
  if (std::ranges::any_of(hidden, [](float value) { return std::isnan(value); }))
    return corrupt(
        "[{}] the hidden state of the last layer at position {} cannot be used: it holds NaN",
        manifest.name, position);
  float highest = 0;
  std::optional<std::int32_t> best;
  for (const artifact::Head& head : manifest.heads) {
    const exec::Outputs& given = head_outputs(*model_, head, outputs);
    const float logit = to_floats(exec::find_output(given, head.output)->view())[at];
    ANEMONE_RETURN_IF_ERROR(check_logits({&logit, 1}, manifest.name, position));
    const std::int32_t row = exec::find_output(given, head.argmax)->view().as<std::int32_t>()[at];
    if (best && !(logit > highest)) continue;
    highest = logit;
    best = static_cast<std::int32_t>(head.vocab_begin) + row;
  }
  sequence.argmaxes_.push_back(best.value_or(0));
  return {};
}

// The ranges of all heads, one after the other, for one column.
void StepRunner::gather_logits(const StepOutputs& outputs, std::int64_t tokens, std::int64_t column,
                               std::span<float> logits) const {
  const bool is_last = model_->manifest().form.logits == artifact::LogitsLayout::kLast;
  for (const artifact::Head& head : model_->manifest().heads) {
    const auto rows = static_cast<std::size_t>(head.columns());
    const std::size_t first = static_cast<std::size_t>(column) * (is_last ? rows : 1);
    const std::size_t stride = is_last ? 1 : static_cast<std::size_t>(tokens);
    const auto out = logits.subspan(static_cast<std::size_t>(head.vocab_begin), rows);
    const exec::Outputs& given = head_outputs(*model_, head, outputs);
    take_strided(exec::find_output(given, head.output)->view(), first, stride, out);
  }
}

}  // namespace anemone::engine

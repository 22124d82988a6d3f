// SPDX-License-Identifier: Apache-2.0
// From the hidden states of a step to its logits: which columns go into the heads, and what the
// heads gave.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "engine/session/logit_check.h"
#include "engine/session/session.h"

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

}  // namespace

const Bucket& Session::smallest_bucket() const {
  return *std::ranges::find_if(buckets_, [](const Bucket& candidate) {
    return candidate.max_width() == 1 || candidate.is_flexible();
  });
}

// A step of several tokens needs the head for one of its columns only.
Status Session::last_logits(const Bucket& bucket, Chunk chunk, std::int64_t column,
                            std::int64_t position) {
  if (bucket.width() != 1) {
    const TensorView hidden = chunk.hidden;
    const artifact::Manifest& manifest = model_->manifest();
    if (column_.empty() || column_.dtype() != hidden.dtype)
      column_ =
          Tensor(hidden.dtype, artifact::hidden_shape(manifest.layout, manifest.hidden_size, 1));
    if (hidden.dtype == DType::kFp16)
      copy_column<Half>(hidden, column, column_.mutable_view());
    else
      copy_column<float>(hidden, column, column_.mutable_view());
    chunk.hidden = column_.view();
  }
  ANEMONE_RETURN_IF_ERROR(
      run_heads(*model_, smallest_bucket().plan().head_function, 1, {&chunk, 1}));
  return gather(chunk, position);
}

Status Session::all_logits(const Bucket& bucket, std::span<const Chunk> chunks, std::int64_t count,
                           const PrefillOptions& options) {
  ANEMONE_RETURN_IF_ERROR(run_heads(*model_, bucket.plan().head_function, bucket.width(), chunks));
  for (std::int64_t t = 0; t < count; ++t) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(t / bucket.width())];
    gather_logits(*chunk.outputs, bucket.width(), t % bucket.width());
    ANEMONE_RETURN_IF_ERROR(check_gathered(position() + t));
    ANEMONE_RETURN_IF_ERROR(options.on_logits(position() + t, logits_buffer_));
  }
  return {};
}

Status Session::gather(const Chunk& chunk, std::int64_t position) {
  if (model_->manifest().is_greedy()) return gather_argmax(chunk, position);
  gather_logits(*chunk.outputs, 1, 0);
  return check_gathered(position);
}

Status Session::check_gathered(std::int64_t position) {
  Status status = check_logits(logits_buffer_, model_->manifest().name, position);
  if (!status.ok()) reset();
  return status;
}

// Takes the highest of the logits that the heads give, after a step of one token.
Status Session::gather_argmax(const Chunk& chunk, std::int64_t position) {
  const artifact::Manifest& manifest = model_->manifest();
  const StepOutputs& outputs = *chunk.outputs;
  // The heads give only their largest logit, which may be a number when others are NaN. So the
  // hidden state that enters them is checked.
  const std::vector<float> hidden = to_floats(chunk.hidden);
  if (std::ranges::any_of(hidden, [](float value) { return std::isnan(value); })) {
    reset();
    return corrupt(
        "[{}] the hidden state of the last layer at position {} cannot be used: it holds NaN",
        manifest.name, position);
  }
  float highest = 0;
  for (std::size_t h = 0; h < manifest.heads.size(); ++h) {
    const artifact::Head& head = manifest.heads[h];
    const float logit = to_floats(exec::find_output(outputs.heads[h], head.output)->view()).front();
    if (const Status status = check_logits({&logit, 1}, manifest.name, position); !status.ok()) {
      reset();
      return status;
    }
    const std::int32_t row =
        exec::find_output(outputs.heads[h], head.argmax)->view().as<std::int32_t>().front();
    if (argmax_ && !(logit > highest)) continue;
    highest = logit;
    argmax_ = static_cast<std::int32_t>(head.vocab_begin) + row;
  }
  return {};
}

// The ranges of all heads, one after the other, for one column.
void Session::gather_logits(const StepOutputs& outputs, std::int64_t tokens, std::int64_t column) {
  const artifact::Manifest& manifest = model_->manifest();
  const auto stride = static_cast<std::size_t>(tokens);
  const auto first = static_cast<std::size_t>(column);
  for (std::size_t h = 0; h < manifest.heads.size(); ++h) {
    const artifact::Head& head = manifest.heads[h];
    const auto rows = static_cast<std::size_t>(head.vocab_end - head.vocab_begin);
    float* out = logits_buffer_.data() + head.vocab_begin;
    const TensorView view = exec::find_output(outputs.heads[h], head.output)->view();
    if (view.dtype == DType::kFp16) {
      const auto values = view.as<Half>();
      if (tokens == 1)
        to_floats(values.first(rows), {out, rows});
      else
        for (std::size_t i = 0; i < rows; ++i) out[i] = to_float(values[i * stride + first]);
    } else {
      const auto values = view.as<float>();
      for (std::size_t i = 0; i < rows; ++i) out[i] = values[i * stride + first];
    }
  }
}

}  // namespace anemone::engine

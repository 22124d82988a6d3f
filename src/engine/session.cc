// SPDX-License-Identifier: Apache-2.0
#include "engine/session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"

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

// The output of a package, whose shape the description may have left open.
Result<TensorView> checked_output(const exec::Outputs& outputs, std::string_view package,
                                  std::string_view name, const Shape& shape) {
  const Tensor* tensor = exec::find_output(outputs, name);
  if (tensor == nullptr)
    return internal_error("[{}] expected output \"{}\", got none", package, name);
  if (tensor->shape() != shape)
    return corrupt("[{}] expected output \"{}\" {}, got {}", package, name, to_string(shape),
                   to_string(tensor->shape()));
  return tensor->view();
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model) {
  std::unique_ptr<Session> session(new Session(std::move(model)));
  ANEMONE_RETURN_IF_ERROR(session->make_caches());
  return session;
}

Status Session::make_caches() {
  const artifact::Manifest& manifest = model_->manifest();
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    ANEMONE_ASSIGN_OR_RETURN(auto states, model_->shard(s).make_state());
    states_.push_back(std::move(states));
    std::vector<Tensor>& caches = caches_.emplace_back();
    for (const artifact::Cache& cache : manifest.shards[s].caches)
      caches.push_back(cache.output.empty() ? Tensor() : Tensor(cache.dtype, cache.shape));
  }
  shard_outputs_.resize(manifest.shards.size());
  head_outputs_.resize(manifest.heads.size());
  logits_buffer_.resize(static_cast<std::size_t>(manifest.vocab_size));
  for (const FunctionPlan& plan : model_->functions()) lanes_.emplace_back().plan = &plan;
  return {};
}

Status Session::check_room(std::int64_t count) const {
  if (count <= model_->context() - position()) return {};
  return invalid_argument("[{}] expected at most {} tokens, which is the context, got {}",
                          model_->manifest().name, model_->context(), position() + count);
}

void Session::forget_logits() {
  logits_ = {};
  likeliest_.reset();
}

void Session::prepare(Lane& lane, std::int64_t tokens) const {
  if (lane.tokens == tokens) return;
  lane.tokens = tokens;
  lane.host_inputs =
      std::make_unique<StepInputs>(lane.plan->host_inputs, tokens, lane.plan->context);
  const artifact::Manifest& manifest = model_->manifest();
  lane.hidden = Tensor(lane.plan->hidden_dtype,
                       artifact::hidden_shape(manifest.layout, manifest.hidden_size, tokens));
}

// The function that takes most of the remaining tokens with the least to compute: the narrowest
// that takes all of them, else the widest, over the smallest context that holds them.
Session::Lane& Session::lane_for(std::int64_t remaining) {
  struct Cost {
    std::int64_t left;  // tokens for later steps
    std::int64_t width;
    std::int64_t context;
    auto operator<=>(const Cost&) const = default;
  };
  Lane* best = nullptr;
  Cost least{};
  for (Lane& lane : lanes_) {
    const artifact::Function& function = *lane.plan->function;
    const std::int64_t count = std::min(remaining, function.tokens);
    if (position() + count > lane.plan->context) continue;
    const Cost cost{remaining - count, function.is_flexible ? count : function.tokens,
                    lane.plan->context};
    if (best != nullptr && cost >= least) continue;
    best = &lane;
    least = cost;
  }
  ANEMONE_CHECK(best != nullptr);
  prepare(*best, least.width);
  return *best;
}

Status Session::prefill(std::span<const std::int32_t> ids, const PrefillOptions& options) {
  forget_logits();
  if (ids.empty()) return invalid_argument("[prompt] expected at least one token, got none");
  if (options.on_logits && model_->manifest().is_greedy())
    return unsupported("[{}] expected a model with logits, got one compiled with --argmax",
                       model_->manifest().name);
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  const auto total = static_cast<std::int64_t>(ids.size());
  ANEMONE_RETURN_IF_ERROR(check_room(total));
  for (std::int64_t done = 0; done < total;) {
    if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed))
      return cancelled("[prompt] expected to read {} tokens, got a request to stop after {}", total,
                       done);
    const std::int64_t count = std::min(total - done, lane_for(total - done).tokens);
    const auto chunk = ids.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(count));
    ANEMONE_RETURN_IF_ERROR(run_chunk(chunk, done + count == total, options));
    done += count;
    if (options.on_progress) options.on_progress(done, total);
  }
  return {};
}

Status Session::run_chunk(std::span<const std::int32_t> ids, bool is_last,
                          const PrefillOptions& options) {
  const auto count = static_cast<std::int64_t>(ids.size());
  Lane& lane = lane_for(count);
  ANEMONE_RETURN_IF_ERROR(run_shards(lane, ids));
  if (options.on_logits)
    ANEMONE_RETURN_IF_ERROR(all_logits(lane, count, options));
  else if (is_last)
    ANEMONE_RETURN_IF_ERROR(last_logits(lane, count - 1));
  const bool has_logits = is_last && !model_->manifest().is_greedy();
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  if (has_logits) logits_ = logits_buffer_;
  return {};
}

Status Session::run_shards(Lane& lane, std::span<const std::int32_t> ids) {
  const artifact::Manifest& manifest = model_->manifest();
  const artifact::Function& function = *lane.plan->function;
  model_->embed(ids, lane.hidden.mutable_view());
  lane.host_inputs->set(position(), static_cast<std::int64_t>(ids.size()));
  TensorView hidden = lane.hidden.view();
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
    const artifact::Shard& shard = manifest.shards[s];
    lane.inputs.clear();
    for (std::size_t i = 0; i < shard.inputs.size(); ++i) {
      const int port = lane.plan->ports[s][i];
      const TensorView view = port == FunctionPlan::kHidden
                                  ? hidden
                                  : lane.host_inputs->view(static_cast<std::size_t>(port));
      lane.inputs.push_back({shard.inputs[i].name, view});
    }
    for (std::size_t c = 0; c < shard.caches.size(); ++c)
      if (!caches_[s][c].empty())
        lane.inputs.push_back({shard.caches[c].name, caches_[s][c].view()});

    exec::Outputs& outputs = shard_outputs_[s];
    const Status status =
        model_->shard(s).run(function.name, lane.inputs, outputs, states_[s].get());
    if (!status.ok()) return status.with(shard.package);
    ANEMONE_ASSIGN_OR_RETURN(
        hidden, checked_output(outputs, shard.package, shard.output, lane.hidden.shape()));
    // A cache that came out becomes the input of the next step, and its old storage the output.
    for (std::size_t c = 0; c < shard.caches.size(); ++c) {
      if (caches_[s][c].empty()) continue;
      ANEMONE_RETURN_IF_ERROR(
          checked_output(outputs, shard.package, shard.caches[c].output, shard.caches[c].shape)
              .status());
      for (exec::NamedTensor& output : outputs)
        if (output.name == shard.caches[c].output) std::swap(output.tensor, caches_[s][c]);
    }
  }
  hidden_out_ = hidden;
  return {};
}

Status Session::run_heads(const std::string& function, std::int64_t tokens,
                          const TensorView& hidden) {
  const artifact::Manifest& manifest = model_->manifest();
  for (std::size_t h = 0; h < manifest.heads.size(); ++h) {
    const artifact::Head& head = manifest.heads[h];
    exec::Outputs& outputs = head_outputs_[h];
    const Status status = model_->head(h).run(function, {{head.input, hidden}}, outputs, nullptr);
    if (!status.ok()) return status.with(head.package);
    const auto check = [&](const std::string& output, std::int64_t channels) {
      return checked_output(outputs, head.package, output,
                            artifact::hidden_shape(manifest.layout, channels, tokens))
          .status();
    };
    const bool is_greedy = !head.argmax.empty();
    ANEMONE_RETURN_IF_ERROR(check(head.output, is_greedy ? 1 : head.vocab_end - head.vocab_begin));
    if (is_greedy) ANEMONE_RETURN_IF_ERROR(check(head.argmax, 1));
  }
  return {};
}

// A step of several tokens needs the head for one of its columns only.
Status Session::last_logits(const Lane& lane, std::int64_t column) {
  TensorView hidden = hidden_out_;
  if (lane.tokens != 1) {
    const artifact::Manifest& manifest = model_->manifest();
    if (column_.empty() || column_.dtype() != hidden.dtype)
      column_ =
          Tensor(hidden.dtype, artifact::hidden_shape(manifest.layout, manifest.hidden_size, 1));
    if (hidden.dtype == DType::kFp16)
      copy_column<Half>(hidden, column, column_.mutable_view());
    else
      copy_column<float>(hidden, column, column_.mutable_view());
    hidden = column_.view();
  }
  const auto narrow = std::ranges::find_if(lanes_, [](const Lane& candidate) {
    const artifact::Function& function = *candidate.plan->function;
    return function.tokens == 1 || function.is_flexible;
  });
  ANEMONE_RETURN_IF_ERROR(run_heads(narrow->plan->head_function, 1, hidden));
  if (model_->manifest().is_greedy())
    gather_likeliest();
  else
    gather_logits(1, 0);
  return {};
}

Status Session::all_logits(const Lane& lane, std::int64_t count, const PrefillOptions& options) {
  ANEMONE_RETURN_IF_ERROR(run_heads(lane.plan->head_function, lane.tokens, hidden_out_));
  for (std::int64_t t = 0; t < count; ++t) {
    gather_logits(lane.tokens, t);
    ANEMONE_RETURN_IF_ERROR(options.on_logits(position() + t, logits_buffer_));
  }
  return {};
}

// The best of the heads, after a step of one token.
void Session::gather_likeliest() {
  const artifact::Manifest& manifest = model_->manifest();
  float highest = 0;
  for (std::size_t h = 0; h < manifest.heads.size(); ++h) {
    const artifact::Head& head = manifest.heads[h];
    const float logit = to_floats(exec::find_output(head_outputs_[h], head.output)->view()).front();
    const std::int32_t row =
        exec::find_output(head_outputs_[h], head.argmax)->view().as<std::int32_t>().front();
    if (likeliest_ && !(logit > highest)) continue;
    highest = logit;
    likeliest_ = static_cast<std::int32_t>(head.vocab_begin) + row;
  }
}

// The ranges of all heads, one after the other, for one column.
void Session::gather_logits(std::int64_t tokens, std::int64_t column) {
  const artifact::Manifest& manifest = model_->manifest();
  const auto stride = static_cast<std::size_t>(tokens);
  const auto first = static_cast<std::size_t>(column);
  for (std::size_t h = 0; h < manifest.heads.size(); ++h) {
    const artifact::Head& head = manifest.heads[h];
    const auto rows = static_cast<std::size_t>(head.vocab_end - head.vocab_begin);
    float* out = logits_buffer_.data() + head.vocab_begin;
    const TensorView view = exec::find_output(head_outputs_[h], head.output)->view();
    if (view.dtype == DType::kFp16) {
      const auto values = view.as<Half>();
      for (std::size_t i = 0; i < rows; ++i) out[i] = to_float(values[i * stride + first]);
    } else {
      const auto values = view.as<float>();
      for (std::size_t i = 0; i < rows; ++i) out[i] = values[i * stride + first];
    }
  }
}

Result<std::int64_t> Session::prefill_to(std::span<const std::int32_t> ids,
                                         const PrefillOptions& options) {
  if (ids.empty()) return invalid_argument("[prompt] expected at least one token, got none");
  // Checked before anything is dropped.
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  if (static_cast<std::int64_t>(ids.size()) > model_->context())
    return invalid_argument("[prompt] expected at most {} tokens, which is the context, got {}",
                            model_->context(), ids.size());
  std::size_t kept = 0;
  if (!options.on_logits)
    while (kept < tokens_.size() && kept + 1 < ids.size() && tokens_[kept] == ids[kept]) ++kept;
  ANEMONE_RETURN_IF_ERROR(truncate(static_cast<std::int64_t>(kept)));
  ANEMONE_RETURN_IF_ERROR(prefill(ids.subspan(kept), options));
  return static_cast<std::int64_t>(kept);
}

Result<std::span<const float>> Session::decode(std::int32_t id) {
  forget_logits();
  ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  ANEMONE_RETURN_IF_ERROR(check_room(1));
  ANEMONE_RETURN_IF_ERROR(run_chunk({&id, 1}, true, {}));
  return logits_;
}

Status Session::truncate(std::int64_t position) {
  if (position < 0 || position > this->position())
    return invalid_argument("[session] expected a position from 0 to {}, got {}", this->position(),
                            position);
  if (position < this->position()) forget_logits();
  // The slots beyond are masked from now on, and overwritten before they are shown again.
  tokens_.resize(static_cast<std::size_t>(position));
  return {};
}

void Session::reset() {
  tokens_.clear();
  forget_logits();
  for (auto& states : states_) states->reset();
  for (auto& caches : caches_)
    for (Tensor& cache : caches)
      if (!cache.empty()) {
        const auto bytes = cache.mutable_view().bytes();
        std::ranges::fill(bytes, std::byte{0});
      }
}

}  // namespace anemone::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/session/classifier.h"

#include <algorithm>

#include "base/error.h"
#include "engine/session/logit_check.h"

namespace anemone::engine {
namespace {

// How far a token attends to each side through all layers; nullopt: to the whole text.
std::optional<std::int64_t> reach(const artifact::Manifest& manifest) {
  std::int64_t widest = 0;
  for (const artifact::Shard& shard : manifest.shards)
    for (const artifact::Port& port : shard.inputs) {
      if (port.role != artifact::PortRole::kAttentionMask) continue;
      if (port.window == 0) return std::nullopt;
      widest = std::max(widest, port.window - 1);
    }
  return widest * manifest.layers;
}

}  // namespace

Result<std::unique_ptr<Classifier>> Classifier::create(std::shared_ptr<const Model> model) {
  const artifact::Manifest& manifest = model->manifest();
  if (!manifest.classifies())
    return unsupported("[{}] expected a model that labels tokens, got one that generates text",
                       manifest.name);
  std::unique_ptr<Classifier> out(new Classifier(std::move(model)));
  ANEMONE_ASSIGN_OR_RETURN(out->caches_, KvCache::make(*out->model_));
  out->outputs_ = make_outputs(*out->model_);
  for (const FunctionPlan& plan : out->model_->functions())
    out->buckets_.emplace_back(*out->model_, plan).set_width(plan.function->tokens);
  std::ranges::sort(out->buckets_, {}, &Bucket::width);
  return out;
}

Bucket& Classifier::bucket_for(std::int64_t tokens) {
  const auto it = std::ranges::find_if(
      buckets_, [&](const Bucket& bucket) { return bucket.width() >= tokens; });
  return it == buckets_.end() ? buckets_.back() : *it;
}

Status Classifier::run(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t last,
                       std::vector<float>& logits) {
  const artifact::Manifest& manifest = model_->manifest();
  const auto count = static_cast<std::int64_t>(ids.size());
  Bucket& bucket = bucket_for(count);
  ANEMONE_ASSIGN_OR_RETURN(Chunk chunk, bucket.fill(0, ids, 0, count, caches_, outputs_));
  ANEMONE_RETURN_IF_ERROR(run_shards(*model_, bucket.plan(), {&chunk, 1}));
  const std::int64_t width = bucket.width();
  ANEMONE_RETURN_IF_ERROR(run_heads(*model_, bucket.plan().head_function, width, {&chunk, 1}));
  const std::size_t begin = logits.size();
  const std::int64_t labels = manifest.vocab_size;
  logits.resize(begin + static_cast<std::size_t>((last - first) * labels));
  const bool is_last = manifest.form.logits == artifact::LogitsLayout::kLast;
  for (const artifact::Head& head : manifest.heads) {
    const std::vector<float> values =
        to_floats(exec::find_output(head_outputs(*model_, head, outputs_), head.output)->view());
    const std::int64_t rows = head.columns();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t t = first; t < last; ++t)
        logits[begin + static_cast<std::size_t>((t - first) * labels + head.vocab_begin + row)] =
            values[static_cast<std::size_t>(is_last ? t * rows + row : row * width + t)];
  }
  return {};
}

Result<Labelling> Classifier::start(std::vector<std::int32_t> ids) const {
  const auto total = static_cast<std::int64_t>(ids.size());
  if (total == 0) return invalid_argument("[text] expected at least one token, got none");
  for (const std::int32_t id : ids) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  const std::int64_t widest = buckets_.back().width();
  Labelling text;
  text.ids = std::move(ids);
  if (total <= widest) return text;
  const auto receptive = reach(model_->manifest());
  text.halo = receptive.value_or(widest);
  if (2 * text.halo >= widest)
    return unsupported(
        "[{}] expected at most {} tokens, got {}: compile with a larger --context{}",
        model_->manifest().name, widest, total,
        receptive ? fmt::format(", or one above {} for texts of any length", 2 * text.halo) : "");
  return text;
}

Status Classifier::run_window(Labelling& text) {
  const auto total = static_cast<std::int64_t>(text.ids.size());
  const std::int64_t begin = std::max<std::int64_t>(text.done - text.halo, 0);
  const std::int64_t end = std::min(total, begin + buckets_.back().width());
  const std::int64_t until = end == total ? total : end - text.halo;
  const auto ids = std::span<const std::int32_t>(text.ids).subspan(
      static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  ANEMONE_RETURN_IF_ERROR(run(ids, text.done - begin, until - begin, text.logits));
  const auto labels = static_cast<std::size_t>(model_->manifest().vocab_size);
  for (std::int64_t t = text.done; t < until; ++t)
    ANEMONE_RETURN_IF_ERROR(
        check_logits(std::span(text.logits).subspan(static_cast<std::size_t>(t) * labels, labels),
                     model_->manifest().name, t));
  text.done = until;
  return {};
}

}  // namespace anemone::engine

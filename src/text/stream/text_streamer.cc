// SPDX-License-Identifier: Apache-2.0
#include "text/stream/text_streamer.h"

#include <algorithm>
#include <utility>

#include "text/text_work.h"

namespace anemone::text {

TextStreamer::TextStreamer(std::shared_ptr<const Tokenizer> tokenizer, const StreamOptions& options)
    : tokenizer_(std::move(tokenizer)),
      work_(std::make_unique<WorkBudget>("answer", kAnswerLimits, options.cancel)),
      stream_(tokenizer_->make_decode_stream(*work_)),
      skip_special_(options.skip_special),
      kept_special_(options.kept_special) {
  work_->pause();
}

Result<std::string> TextStreamer::push(std::int32_t id) {
  std::string out;
  if (skip_special_ && tokenizer_->is_special(id) && !std::ranges::binary_search(kept_special_, id))
    return out;
  const auto token = tokenizer_->decoder_token(id);
  if (!token) return out;
  work_->resume();
  const Status status = stream_->push(*token, out);
  work_->pause();
  if (!status.ok()) return status;
  return out;
}

Result<std::string> TextStreamer::finish() {
  std::string out;
  work_->resume();
  const Status status = stream_->finish(out);
  work_->pause();
  if (!status.ok()) return status;
  return out;
}

}  // namespace anemone::text

// SPDX-License-Identifier: Apache-2.0
#include "text/text_streamer.h"

#include <utility>

namespace anemone::text {

TextStreamer::TextStreamer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)),
      stream_(tokenizer_->make_decode_stream()),
      skip_special_(skip_special) {}

std::string TextStreamer::push(std::int32_t id) {
  std::string out;
  if (skip_special_ && tokenizer_->is_special(id)) return out;
  if (const auto token = tokenizer_->decoder_token(id)) stream_->push(*token, out);
  return out;
}

std::string TextStreamer::finish() {
  std::string out;
  stream_->finish(out);
  return out;
}

}  // namespace anemone::text

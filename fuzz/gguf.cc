// SPDX-License-Identifier: Apache-2.0
// Every tensor of a GGUF file that opens can be read from its first to its last element, and its
// metadata either make a configuration and a tokenizer or are refused.
#include "base/check.h"
#include "checkpoint/gguf/gguf_checkpoint.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/gguf_source.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "fuzz/support.h"
#include "text/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  namespace gguf = checkpoint::gguf;
  const fuzz::MemoryFile memory(fuzz::text_of(data, size));
  const auto file = gguf::GgufFile::open(memory.path());
  if (!file.ok()) return 0;
  for (const auto& [key, value] : (*file)->metadata().values())
    ANEMONE_CHECK(gguf::Metadata::describe(value).size() < 4096);
  const auto read_all = [](const checkpoint::WeightSource& source) {
    for (const checkpoint::WeightRef* weight : source.all()) {
      const std::int64_t count = element_count(weight->shape);
      std::vector<float> floats(static_cast<std::size_t>(count));
      checkpoint::read_floats(*weight, 0, floats);
      if (weight->decoder != nullptr && weight->decoder->quantized_form() && count > 0) {
        const auto columns = static_cast<std::size_t>(weight->shape.back());
        const auto form = *weight->decoder->quantized_form();
        std::vector<std::int8_t> quants(columns);
        std::vector<float> scales(columns / static_cast<std::size_t>(form.group));
        weight->decoder->read_quants(*weight, 0, quants, scales);
        if (form.has_minimums) weight->decoder->read_minimums(*weight, 0, scales);
      }
    }
  };
  read_all(*gguf::make_plain_source(*file));
  const auto texts = gguf::make_text_files((*file)->metadata());
  if (texts.ok() && !texts->empty())
    (void)text::Tokenizer::parse(texts->front().content, "tokenizer.json");
  const auto model = gguf::open_gguf_checkpoint(memory.path());
  if (model.ok()) read_all(*model->weights);
  return 0;
}

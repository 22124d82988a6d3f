// SPDX-License-Identifier: Apache-2.0
// A checkpoint folder: config.json, generation_config.json, an index and its shards as parts of one
// input; then the architecture's view of the configuration.
#include "checkpoint/checkpoint.h"

#include <cmath>

#include "base/check.h"
#include "fuzz/support.h"
#include "models/architecture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::Parts parts = fuzz::split_parts(fuzz::text_of(data, size));
  const fuzz::ScratchFolder folder(parts);
  const auto opened = checkpoint::open_checkpoint(folder.path());
  if (opened.ok())
    for (const checkpoint::WeightRef* weight : opened->weights->all())
      ANEMONE_CHECK(opened->weights->find(weight->name) == weight);
  if (opened.ok())
    for (const checkpoint::WeightRef* weight : opened->weights->all()) {
      // MXFP4: the scales lie elsewhere than the bytes.
      if (weight->decoder == nullptr || element_count(weight->shape) == 0) continue;
      float value = 0;
      checkpoint::read_floats(*weight, 0, {&value, 1});
      checkpoint::read_floats(*weight, element_count(weight->shape) - 1, {&value, 1});
    }

  const auto config = checkpoint::HfConfig::read(folder.path() + "/config.json");
  if (!config.ok()) return 0;
  const auto architecture = models::find_architecture(config->model_type());
  if (!architecture.ok()) return 0;
  const auto decoder = (*architecture)->read_config(*config);
  if (!decoder.ok()) return 0;
  ANEMONE_CHECK(decoder->num_layers() > 0 && decoder->head_dim > 0);
  ANEMONE_CHECK(std::isfinite(decoder->rms_norm_eps) && !decoder->ropes.empty());
  for (const artifact::Rope& rope : decoder->ropes) {
    ANEMONE_CHECK(std::isfinite(rope.scale));
    for (const float frequency : rope.inv_freq) ANEMONE_CHECK(std::isfinite(frequency));
    for (const float frequency : rope.long_inv_freq) ANEMONE_CHECK(std::isfinite(frequency));
  }
  for (const models::LayerConfig& layer : decoder->layers)
    ANEMONE_CHECK(layer.rope < decoder->ropes.size());
  return 0;
}

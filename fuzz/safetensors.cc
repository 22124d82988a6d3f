// SPDX-License-Identifier: Apache-2.0
// Every tensor of a file that opens can be read from its first to its last element.
#include "checkpoint/safetensors.h"

#include <algorithm>

#include "base/check.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  const fuzz::MemoryFile file(fuzz::text_of(data, size));
  const auto opened = checkpoint::SafetensorsFile::open(file.path());
  if (!opened.ok()) return 0;
  std::uint64_t total = 0;
  for (const checkpoint::WeightRef* weight : (*opened)->all()) {
    ANEMONE_CHECK((*opened)->find(weight->name) == weight);
    ANEMONE_CHECK(weight->view().size_bytes() == weight->bytes.size());
    total += weight->bytes.size();
    std::vector<float> floats(static_cast<std::size_t>(element_count(weight->shape)));
    checkpoint::read_floats(*weight, 0, floats);
    weight->release();
  }
  ANEMONE_CHECK(total <= size);
  return 0;
}

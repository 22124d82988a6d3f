// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"

namespace anemone::checkpoint::gguf {

// A tensor under the name and with the order of rows that its user wants.
struct TensorMapping {
  const TensorInfo* tensor = nullptr;
  std::string name = {};
  // Rows of one attention head when its pairs of rows lie side by side in the file (2j, 2j + 1) and
  // are wanted half a head apart (j, j + rows / 2); 0: rows as they are.
  std::int64_t head_rows = 0;
  std::int64_t matrix = -1;  // of several that are stacked; -1: the whole tensor
  // The value is log(-x) of the stored float x if `is_negative_exp`; otherwise it is x + `offset`.
  bool is_negative_exp = false;
  float offset = 0;
  Shape shape = {};  // of the same elements where it is another than in the file; else empty

  bool is_changed() const { return is_negative_exp || offset != 0; }
};

// The tensors of a GGUF file as weights. Quantized ones read as fp32, block by block.
std::shared_ptr<const WeightSource> make_source(std::shared_ptr<const GgufFile> file,
                                                const std::vector<TensorMapping>& mappings);

// All tensors under their own names, with rows as they lie.
std::shared_ptr<const WeightSource> make_plain_source(std::shared_ptr<const GgufFile> file);

}  // namespace anemone::checkpoint::gguf

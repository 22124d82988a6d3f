// SPDX-License-Identifier: Apache-2.0
#include "compiler/stored_rows.h"

#include "mlpackage/package_writer.h"

namespace anemone::compiler {

std::optional<artifact::Quantization> quantization_of(const quant::StoredWeight& weight) {
  if (weight.op == "const") return std::nullopt;
  // All schemes have two parameters: the elements, then scales [row blocks, column blocks, 1, 1] or
  // palettes [row blocks, 1, 1, 1, entries, 1].
  const ir::Type& elements = weight.parameters[0].second.type();
  const ir::Type& blocks = weight.parameters[1].second.type();
  return artifact::Quantization{.dtype = elements.dtype,
                                .block_rows = elements.shape[0] / blocks.shape[0],
                                .block_columns = elements.shape[1] / blocks.shape[1]};
}

Result<std::optional<artifact::EmbeddingPart>> rows_of_head(const mlpackage::Model& model,
                                                            const quant::StoredWeight& weight,
                                                            const artifact::Head& head,
                                                            bool reads_weights) {
  ANEMONE_ASSIGN_OR_RETURN(const auto place,
                           mlpackage::place_of_constant(model, weight.parameters[0].second));
  if (!place) return std::optional<artifact::EmbeddingPart>();
  artifact::EmbeddingPart part = {.file = head.package + "/" + place->file,
                                  .offset = place->offset,
                                  .rows = head.vocab_end - head.vocab_begin,
                                  .quantization = quantization_of(weight)};
  if (part.quantization) {
    const ir::Literal& blocks = weight.parameters[1].second;
    ANEMONE_ASSIGN_OR_RETURN(const auto blocks_place, mlpackage::place_of_constant(model, blocks));
    if (blocks_place) {
      part.quantization->offset = blocks_place->offset;
    } else if (reads_weights) {
      ANEMONE_ASSIGN_OR_RETURN(const Tensor scales, blocks.to_tensor());
      part.quantization->scales = to_floats(scales.view());
    }
  }
  return std::optional(std::move(part));
}

}  // namespace anemone::compiler

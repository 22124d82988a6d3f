// SPDX-License-Identifier: Apache-2.0
// Whatever opens as an ONNX graph can be walked, and every matrix that is found can be read.
#include <nlohmann/json.hpp>

#include "checkpoint/onnx/decoder_graph.h"
#include "checkpoint/onnx/rope_table.h"
#include "fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace anemone;
  namespace onnx = checkpoint::onnx;
  const fuzz::MemoryFile memory(fuzz::text_of(data, size));
  const auto graph = onnx::OnnxGraph::open(memory.path());
  if (!graph.ok()) return 0;
  for (const onnx::Node& node : (*graph)->nodes()) {
    const auto matrix = onnx::read_matrix(**graph, node);
    if (!matrix.ok()) continue;
    std::vector<float> row(static_cast<std::size_t>(matrix->columns));
    checkpoint::read_floats(matrix->weight, 0, row);
    checkpoint::read_floats(matrix->weight, (matrix->rows - 1) * matrix->columns, row);
  }
  const auto decoder = onnx::read_decoder(**graph);
  if (decoder.ok()) (void)onnx::rope_settings(*decoder->cos, *decoder->sin, "fuzz");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Whatever opens as an ONNX graph can be walked, and the first and the last row of every matrix
// that is found can be read. The decoder is searched for in two ways: by the form of the graph, and
// by the names of its tensors. The second way needs the settings of the model; here they are those
// of fuzz/corpus/onnx/named.onnx.
#include <nlohmann/json.hpp>

#include "checkpoint/onnx/decoder_graph.h"
#include "checkpoint/onnx/named_decoder.h"
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
  const auto in_graph = onnx::read_decoder(**graph);
  const auto named = onnx::read_named_decoder(**graph, {{"hidden_size", 32},
                                                        {"num_hidden_layers", 2},
                                                        {"num_attention_heads", 2},
                                                        {"num_key_value_heads", 1},
                                                        {"head_size", 16}});
  for (const auto* decoder : {&in_graph, &named}) {
    if (!decoder->ok()) continue;
    (void)onnx::rope_settings(*(*decoder)->cos, *(*decoder)->sin, "fuzz");
    for (const onnx::DecoderLayer& layer : (*decoder)->layers) {
      const onnx::Matrix& down = layer.down.matrix;
      std::vector<float> row(static_cast<std::size_t>(down.columns));
      checkpoint::read_floats(down.weight, (down.rows - 1) * down.columns, row);
    }
  }
  return 0;
}

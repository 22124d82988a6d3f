// SPDX-License-Identifier: Apache-2.0
// The graph of an ONNX model: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto gives the
// numbers of the fields.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "checkpoint/onnx/proto_fields.h"
#include "tensor/tensor.h"

namespace anemone::checkpoint::onnx {

// A constant of the graph, where it lies: in the model, in a file beside it, or, when it is a list
// of numbers, in memory of the graph's.
struct Constant {
  std::string name;
  DType dtype = DType::kFp32;
  Shape shape;
  std::span<const std::byte> bytes;
  const MappedFile* file = nullptr;

  TensorView view() const { return {dtype, shape, bytes.data()}; }
  bool is_float() const {
    return dtype == DType::kFp32 || dtype == DType::kFp16 || dtype == DType::kBf16;
  }
};

struct Node {
  std::string op;      // "MatMulNBits"
  std::string domain;  // "com.microsoft"; empty for ONNX's own
  std::string name;
  std::vector<std::string> inputs;  // empty: left out
  std::vector<std::string> outputs;
  std::map<std::string, std::int64_t, std::less<>> integers;
  std::map<std::string, float, std::less<>> numbers;

  // "" when it is left out.
  const std::string& input(std::size_t i) const;
  const std::string& output(std::size_t i) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  float number(std::string_view name, float fallback) const;
};

// Immutable, thread-safe. Keeps the files mapped.
class OnnxGraph {
 public:
  // Every size and offset is checked before it is believed; weights are not read. kUnsupported for
  // element types that are not known, kIo for a data file that is not there, kCorrupt for the rest.
  static Result<std::shared_ptr<const OnnxGraph>> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::map<std::string, Constant, std::less<>>& constants() const { return constants_; }
  // nullptr when there is none of this name: it is computed, or an input.
  const Constant* constant(std::string_view name) const;
  const Node* producer(std::string_view value) const;
  std::vector<const Node*> consumers(std::string_view value) const;
  // Paths of the model and its data files.
  std::vector<std::string> files() const;

 private:
  Status read_model(std::span<const std::byte> bytes);
  Status read_graph(std::span<const std::byte> bytes);
  Status read_node(std::span<const std::byte> bytes);
  Status read_attribute(std::span<const std::byte> bytes, Node& node);
  Result<Constant> read_constant(std::span<const std::byte> bytes);
  Status find_data(std::string_view location, std::uint64_t offset,
                   std::optional<std::uint64_t> length, Constant& constant);
  Status index();

  std::string path_;
  const MappedFile* model_ = nullptr;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> lists_;
  std::vector<Node> nodes_;
  std::map<std::string, Constant, std::less<>> constants_;
  std::map<std::string, std::size_t, std::less<>> producer_of_;
  std::multimap<std::string, std::size_t, std::less<>> consumers_of_;
};

}  // namespace anemone::checkpoint::onnx

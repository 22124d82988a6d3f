// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/transposed.h"

namespace anemone::checkpoint::onnx {
namespace {

// A view of some rows of a matrix that has a decoder of its own.
class RowsDecoder : public WeightDecoder {
 public:
  RowsDecoder(std::shared_ptr<const WeightDecoder> all, std::int64_t first)
      : all_(std::move(all)), first_(first) {}
  std::string_view storage() const override { return all_->storage(); }
  void read(const WeightRef& weight, std::int64_t begin, std::span<float> out) const override {
    all_->read(weight, begin + first_ * weight.shape.back(), out);
  }
  std::int64_t rows_at_once() const override { return all_->rows_at_once(); }
  int quantized_bits() const override { return all_->quantized_bits(); }
  std::optional<QuantizedForm> quantized_form() const override { return all_->quantized_form(); }
  void read_quants(const WeightRef& weight, std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    all_->read_quants(weight, row + first_, quants, scales);
  }
  void read_minimums(const WeightRef& weight, std::int64_t row,
                     std::span<float> minimums) const override {
    all_->read_minimums(weight, row + first_, minimums);
  }

 private:
  std::shared_ptr<const WeightDecoder> all_;
  std::int64_t first_;
};

// The right side of MatMul, [columns, rows].
class TransposedDecoder : public WeightDecoder {
 public:
  explicit TransposedDecoder(const Constant& constant) : constant_(constant) {}
  std::string_view storage() const override { return dtype_name(constant_.dtype); }
  void read(const WeightRef& /*weight*/, std::int64_t begin, std::span<float> out) const override {
    const std::int64_t columns = constant_.shape[0];
    WeightRef plain;
    plain.dtype = constant_.dtype;
    plain.shape = constant_.shape;
    plain.bytes = constant_.bytes;
    while (!out.empty()) {
      const auto left = static_cast<std::int64_t>(out.size());
      const std::int64_t row = begin / columns;
      const std::int64_t column = begin % columns;
      // Whole rows together; what is before and after them is of one row.
      const std::int64_t rows = column == 0 && left >= columns ? left / columns : 1;
      const std::int64_t width = std::min(columns - column, left);
      const auto size = static_cast<std::size_t>(rows * width);
      read_transposed(
          plain, {.first = column * constant_.shape[1] + row, .column_step = constant_.shape[1]},
          rows, width, out.first(size));
      out = out.subspan(size);
      begin += rows * width;
    }
  }
  std::int64_t rows_at_once() const override { return kTransposedRowsAtOnce; }

 private:
  const Constant& constant_;
};

struct BlockForm {
  const Constant* data = nullptr;
  const Constant* scales = nullptr;
  const Constant* zeros = nullptr;
  int bits = 4;
  std::int64_t block = 32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_bytes = 0;
  std::int64_t blocks() const { return (columns + block - 1) / block; }
};

bool has_known_bits(const BlockForm& form) {
  return form.bits == 2 || form.bits == 4 || form.bits == 8;
}

// Integers in blocks with scales.
class BlocksDecoder : public WeightDecoder {
 public:
  explicit BlocksDecoder(const BlockForm& form) : form_(form) {}
  std::string_view storage() const override {
    if (form_.bits == 2) return "int2 blocks";
    return form_.bits == 4 ? "int4 blocks" : "int8 blocks";
  }
  int quantized_bits() const override { return form_.bits; }

  void read(const WeightRef& /*weight*/, std::int64_t begin, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size();) {
      const std::int64_t at = begin + static_cast<std::int64_t>(i);
      const std::int64_t row = at / form_.columns;
      std::int64_t column = at % form_.columns;
      const std::int64_t block = column / form_.block;
      const std::int64_t end = std::min(form_.columns, (block + 1) * form_.block);
      const float scale = scale_at(row, block);
      const float zero = zero_at(row, block);
      for (; column < end && i < out.size(); ++column, ++i)
        out[i] = (static_cast<float>(quant(row, column)) - zero) * scale;
    }
  }

  std::optional<QuantizedForm> quantized_form() const override {
    const bool has_zeros = form_.zeros != nullptr;
    // Beside integers of 8 bits, minimums would take room for hardly any precision.
    if (form_.columns % form_.block != 0 || (has_zeros && form_.bits == 8)) return std::nullopt;
    // Packages store no integers of two bits; those of four hold the same values.
    return QuantizedForm{form_.block, std::max(form_.bits, 4), form_.scales->dtype == DType::kFp16,
                         has_zeros};
  }
  void read_quants(const WeightRef& /*weight*/, std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    const int zero = 1 << (form_.bits - 1);
    for (std::size_t i = 0; i < quants.size(); ++i)
      quants[i] = static_cast<std::int8_t>(quant(row, static_cast<std::int64_t>(i)) - zero);
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = scale_at(row, static_cast<std::int64_t>(i));
  }

  void read_minimums(const WeightRef& /*weight*/, std::int64_t row,
                     std::span<float> minimums) const override {
    const auto zero = static_cast<float>(1 << (form_.bits - 1));
    for (std::size_t i = 0; i < minimums.size(); ++i) {
      const auto block = static_cast<std::int64_t>(i);
      minimums[i] = (zero - zero_at(row, block)) * scale_at(row, block);
    }
  }

 private:
  // Integer `index` of those that are packed from `at` on, low bits first.
  int packed(const std::byte* at, std::int64_t index) const {
    if (form_.bits == 8) return static_cast<int>(at[index]);
    const std::int64_t in_byte = 8 / form_.bits;
    const int mask = (1 << form_.bits) - 1;
    return static_cast<int>(at[index / in_byte]) >> (index % in_byte * form_.bits) & mask;
  }
  int quant(std::int64_t row, std::int64_t column) const {
    return packed(form_.data->bytes.data() + row * form_.row_bytes, column);
  }
  float scale_at(std::int64_t row, std::int64_t block) const {
    return static_cast<float>(
        element_as_double(form_.scales->view(), row * form_.blocks() + block));
  }
  float zero_at(std::int64_t row, std::int64_t block) const {
    if (form_.zeros == nullptr) return static_cast<float>(1 << (form_.bits - 1));
    if (form_.zeros->dtype != DType::kUInt8)
      return static_cast<float>(
          element_as_double(form_.zeros->view(), row * form_.blocks() + block));
    const std::int64_t row_bytes = (form_.blocks() * form_.bits + 7) / 8;
    return static_cast<float>(packed(form_.zeros->bytes.data() + row * row_bytes, block));
  }

  BlockForm form_;
};

// `decoder` is null for plain elements, row-major.
Matrix matrix_of(const Constant& data, std::int64_t rows, std::int64_t columns,
                 std::shared_ptr<const WeightDecoder> decoder) {
  Matrix out;
  out.name = data.name;
  out.rows = rows;
  out.columns = columns;
  out.weight.dtype = data.is_float() ? data.dtype : DType::kFp32;
  out.weight.shape = {rows, columns};
  out.weight.bytes = data.bytes;
  out.weight.file = data.file;
  out.weight.decoder = decoder.get();
  out.decoder = std::move(decoder);
  return out;
}

// A constant, also behind nodes that change nothing but its shape.
const Constant* data_of(const OnnxGraph& graph, const std::string& name) {
  if (const Constant* constant = graph.constant(name)) return constant;
  const Node* node = graph.producer(name);
  return node != nullptr && node->op == "Reshape" ? graph.constant(node->input(0)) : nullptr;
}

std::int64_t count_of(const Constant* constant) {
  return constant == nullptr ? -1 : element_count(constant->shape);
}

// `place` is for messages: a node.
Result<Matrix> read_blocks(const OnnxGraph& graph, const std::string& place, BlockForm form,
                           std::int64_t padded_columns) {
  const auto fails = [&](std::string_view what) {
    return unsupported("[{}] expected {} in {}", graph.path(), what, place);
  };
  if (form.data == nullptr || form.data->dtype != DType::kUInt8 || form.scales == nullptr ||
      !form.scales->is_float())
    return fails("constant bytes with float scales");
  if (!has_known_bits(form)) return fails("2, 4 or 8 bits");
  if (form.block < 16 || form.block > 1 << 20 || (form.block & (form.block - 1)) != 0)
    return fails("a block size that is a power of two and at least 16");
  if (form.rows < 1 || form.columns < 1 || form.rows > 1 << 30 || form.columns > 1 << 30)
    return fails("from 1 to 2^30 rows and columns");
  form.row_bytes = padded_columns * form.bits / 8;
  if (count_of(form.data) != form.rows * form.row_bytes ||
      count_of(form.scales) != form.rows * form.blocks())
    return fails("as many bytes and scales as its rows, columns and blocks need");
  if (form.zeros != nullptr) {
    const std::int64_t wanted = form.zeros->dtype == DType::kUInt8
                                    ? form.rows * ((form.blocks() * form.bits + 7) / 8)
                                    : form.rows * form.blocks();
    if ((form.zeros->dtype != DType::kUInt8 && !form.zeros->is_float()) ||
        count_of(form.zeros) != wanted)
      return fails("a zero point per block");
  }
  return matrix_of(*form.data, form.rows, form.columns, std::make_shared<BlocksDecoder>(form));
}

}  // namespace

Matrix Matrix::part(std::int64_t first, std::int64_t count) const {
  Matrix out = *this;
  out.rows = count;
  out.weight.shape = {count, columns};
  if (decoder == nullptr) {
    const auto row_bytes =
        static_cast<std::size_t>(dtype_bytes(weight.dtype, static_cast<std::uint64_t>(columns)));
    out.weight.bytes = weight.bytes.subspan(static_cast<std::size_t>(first) * row_bytes,
                                            static_cast<std::size_t>(count) * row_bytes);
    return out;
  }
  out.decoder = std::make_shared<RowsDecoder>(decoder, first);
  out.weight.decoder = out.decoder.get();
  // Shared bytes: whoever is done with a part is not done with the rest.
  out.weight.file = nullptr;
  return out;
}

namespace {

std::string place_of(const Node& node) {
  return fmt::format("{} ({})", node.name, node.op);
}

Result<Matrix> read_quantized(const OnnxGraph& graph, const Node& node) {
  const bool is_product = node.op == "MatMulNBits";
  BlockForm form;
  form.data = data_of(graph, node.input(is_product ? 1 : 0));
  form.scales = graph.constant(node.input(2));
  form.zeros = graph.constant(node.input(3));
  form.bits = static_cast<int>(node.integer("bits", 4));
  form.block = node.integer("block_size", is_product ? 32 : 128);
  if (is_product) {
    form.rows = node.integer("N", 0);
    form.columns = node.integer("K", 0);
    if (!node.input(4).empty())
      return unsupported("[{}] expected no g_idx (reordered columns) in {}", graph.path(),
                         node.name);
    // The last block of a row is whole, whatever the row has of it.
    const std::int64_t block = std::clamp<std::int64_t>(form.block, 1, 1 << 20);
    const std::int64_t columns = std::clamp<std::int64_t>(form.columns, 0, 1 << 30);
    return read_blocks(graph, place_of(node), form, (columns + block - 1) / block * block);
  }
  if (form.scales != nullptr && form.scales->shape.size() == 2 && form.data != nullptr &&
      node.integer("gather_axis", 0) == 0 && node.integer("quantize_axis", 1) == 1 &&
      has_known_bits(form) && form.scales->shape[0] > 0) {
    form.rows = form.scales->shape[0];
    form.columns = count_of(form.data) / form.rows * 8 / form.bits;
  }
  return read_blocks(graph, place_of(node), form, form.columns);
}

}  // namespace

Result<Matrix> read_matrix(const OnnxGraph& graph, const Node& node) {
  if (node.op == "MatMulNBits" || node.op == "GatherBlockQuantized")
    return read_quantized(graph, node);
  const bool is_product = node.op == "MatMul";
  if (is_product || (node.op == "Gather" && node.integer("axis", 0) == 0)) {
    const std::string& name = node.input(is_product ? 1 : 0);
    // The embedding as a head is transposed for the product: its rows lie as they should.
    const Node* transposed = is_product ? graph.producer(name) : nullptr;
    const bool is_transposed = transposed != nullptr && transposed->op == "Transpose";
    const Constant* data = graph.constant(is_transposed ? transposed->input(0) : name);
    if (data != nullptr && data->is_float() && data->shape.size() == 2 &&
        element_count(data->shape) > 0) {
      if (is_product && !is_transposed)
        return matrix_of(*data, data->shape[1], data->shape[0],
                         std::make_shared<TransposedDecoder>(*data));
      return matrix_of(*data, data->shape[0], data->shape[1], nullptr);
    }
  }
  return unsupported("[{}] expected a product with a constant matrix, got {} ({})", graph.path(),
                     node.op, node.name);
}

Result<Matrix> read_named_matrix(const OnnxGraph& graph, const std::string& name,
                                 std::int64_t columns) {
  if (const Constant* data = graph.constant(name + ".weight")) {
    if (!data->is_float() || data->shape.size() != 2 || data->shape[1] != columns ||
        data->shape[0] < 1)
      return corrupt("[{}] expected floats [rows, {}] in {}.weight, got {} {}", graph.path(),
                     columns, name, dtype_name(data->dtype), to_string(data->shape));
    return matrix_of(*data, data->shape[0], columns, nullptr);
  }
  BlockForm form;
  for (const char* backbone : {".matmul.backbone", ""})
    if (form.data == nullptr) form.data = graph.constant(name + backbone + ".weight_quantized");
  for (const char* quantizers : {".matmul", ""})
    if (form.scales == nullptr)
      form.scales = graph.constant(name + quantizers + ".quantizers.weight.scale_for_export");
  if (form.data == nullptr || form.scales == nullptr)
    return not_found("[{}] expected a matrix named {}, got none", graph.path(), name);
  const Shape& shape = form.data->shape;
  if (shape.size() != 3)
    return corrupt("[{}] expected shape [rows, blocks, bytes] of {}, got {}", graph.path(), name,
                   to_string(shape));
  form.rows = shape[0];
  form.columns = columns;
  // Bits and block are those that the bytes of a block leave; no block is longer than a row.
  const auto most = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns)));
  int forms = 0;
  for (const int bits : {2, 4, 8}) {
    const std::int64_t block = shape[2] * 8 / bits;
    if (block < 1 || block > most || (columns + block - 1) / block != shape[1]) continue;
    form.bits = bits;
    form.block = block;
    ++forms;
  }
  if (forms != 1)
    return corrupt("[{}] expected {} columns in the blocks {} of {}", graph.path(), columns,
                   to_string(shape), name);
  return read_blocks(graph, name, form, shape[1] * form.block);
}

}  // namespace anemone::checkpoint::onnx

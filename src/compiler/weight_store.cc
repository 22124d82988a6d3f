// SPDX-License-Identifier: Apache-2.0
#include "compiler/weight_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/error.h"
#include "checkpoint/transposed.h"
#include "quant/float_weight.h"
#include "quant/packed_rows.h"

namespace anemone::compiler {
namespace {

using checkpoint::WeightRef;

// Rows of several checkpoint matrices, one after the other.
class StackedRows : public quant::MatrixSource {
 public:
  // Row r is row `row_begin + r * row_step` of all matrices of the tensor one after the other, or,
  // where they are transposed, that column of one that begins at element `origin`.
  struct Part {
    const WeightRef* weight;
    std::int64_t row_begin;
    std::int64_t rows;
    std::int64_t row_step = 1;
    std::int64_t origin = 0;
    std::int64_t stride = 1;  // from one element of a row to the next

    std::int64_t row_at(std::int64_t r) const { return row_begin + r * row_step; }
  };
  // Columns of the matrices that the rows have.
  struct Columns {
    std::int64_t count = 0;
    std::int64_t begin = 0;
    std::int64_t all = 0;  // of the matrices
  };
  // `may_have_minimums`: else a form with some is none.
  StackedRows(std::shared_ptr<const checkpoint::WeightSource> source, std::vector<Part> parts,
              const Columns& columns, bool may_have_minimums = false)
      : source_(std::move(source)),
        parts_(std::move(parts)),
        may_have_minimums_(may_have_minimums),
        columns_(columns) {
    for (const Part& part : parts_) rows_ += part.rows;
    form_ = common_form();
  }

  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_.count; }
  std::string_view name() const override { return parts_.front().weight->name; }
  void read_rows(std::int64_t begin, std::int64_t count, std::span<float> out) const override {
    for (const Part& part : parts_) {
      if (begin < part.rows && count > 0) {
        const std::int64_t own = std::min(count, part.rows - begin);
        const auto size = static_cast<std::size_t>(own * columns_.count);
        read_own_rows(part, begin, own, out.first(size));
        out = out.subspan(size);
        count -= own;
        begin += own;
      }
      begin -= part.rows;
    }
  }
  std::int64_t rows_at_once() const override {
    std::int64_t rows = 1;
    for (const Part& part : parts_) {
      const checkpoint::WeightDecoder* decoder = part.weight->decoder;
      if (part.stride != 1) rows = std::max(rows, checkpoint::kTransposedRowsAtOnce);
      if (decoder != nullptr) rows = std::max(rows, decoder->rows_at_once());
    }
    return rows;
  }
  int quantized_bits() const override {
    int bits = 0;
    for (const Part& part : parts_) bits = std::max(bits, part.weight->quantized_bits());
    return bits;
  }
  std::optional<QuantizedForm> quantized_form() const override { return form_; }
  void read_quants(std::int64_t row, std::span<std::int8_t> quants,
                   std::span<float> scales) const override {
    for (const Part& part : parts_) {
      if (row >= part.rows) {
        row -= part.rows;
        continue;
      }
      // A part of larger groups has fewer scales: each stands for several.
      const auto group = static_cast<std::size_t>(part.weight->decoder->quantized_form()->group);
      const std::size_t own = quants.size() / group;
      read_own_quants(part, row, group, quants, scales.first(own));
      const std::size_t repeat = scales.size() / own;
      if (repeat > 1)
        for (std::size_t i = scales.size(); i-- > 0;) scales[i] = scales[i / repeat];
      return;
    }
  }
  void read_minimums(std::int64_t row, std::span<float> minimums) const override {
    for (const Part& part : parts_) {
      if (row >= part.rows) {
        row -= part.rows;
        continue;
      }
      const checkpoint::WeightDecoder& decoder = *part.weight->decoder;
      const QuantizedForm own = *decoder.quantized_form();
      std::vector<float> all(static_cast<std::size_t>(columns_.all / own.group));
      if (own.has_minimums) decoder.read_minimums(*part.weight, part.row_at(row), all);
      const auto first = static_cast<std::size_t>(columns_.begin / own.group);
      const auto repeat = static_cast<std::size_t>(own.group / form_->group);
      for (std::size_t i = 0; i < minimums.size(); ++i) minimums[i] = all[first + i / repeat];
      return;
    }
  }
  void release() const override {
    for (const Part& part : parts_) part.weight->release();
  }

 private:
  void read_own_rows(const Part& part, std::int64_t begin, std::int64_t count,
                     std::span<float> out) const {
    const auto width = static_cast<std::size_t>(columns_.count);
    if (part.stride == 1 && part.row_step == 1 && columns_.count == columns_.all)
      return read_floats(*part.weight, part.row_at(begin) * columns_.all, out);
    if (part.stride == 1) {
      for (std::int64_t r = 0; r < count; ++r)
        read_floats(*part.weight, part.row_at(begin + r) * columns_.all + columns_.begin,
                    out.subspan(static_cast<std::size_t>(r) * width, width));
      return;
    }
    read_transposed(*part.weight,
                    {.first = part.origin + part.row_at(begin) + columns_.begin * part.stride,
                     .row_step = part.row_step,
                     .column_step = part.stride},
                    count, columns_.count, out);
  }
  void read_own_quants(const Part& part, std::int64_t row, std::size_t group,
                       std::span<std::int8_t> quants, std::span<float> scales) const {
    const checkpoint::WeightDecoder& decoder = *part.weight->decoder;
    if (columns_.count == columns_.all)
      return decoder.read_quants(*part.weight, part.row_at(row), quants, scales);
    const auto all = static_cast<std::size_t>(columns_.all);
    const auto begin = static_cast<std::size_t>(columns_.begin);
    std::vector<std::int8_t> row_quants(all);
    std::vector<float> row_scales(all / group);
    decoder.read_quants(*part.weight, part.row_at(row), row_quants, row_scales);
    std::copy_n(row_quants.begin() + static_cast<std::ptrdiff_t>(begin), quants.size(),
                quants.begin());
    std::copy_n(row_scales.begin() + static_cast<std::ptrdiff_t>(begin / group), scales.size(),
                scales.begin());
  }

  std::shared_ptr<const checkpoint::WeightSource> source_;  // keeps the mapping
  std::vector<Part> parts_;
  // What all parts have in common: integers when all are integers, a group that divides each of
  // theirs and the most bits. Nothing where some have minimums and others eight bits, for which
  // minimums would take room and give hardly any precision.
  std::optional<QuantizedForm> common_form() const {
    QuantizedForm form{.group = 0, .bits = 4, .has_half_scales = true};
    for (const Part& part : parts_) {
      const checkpoint::WeightDecoder* decoder = part.weight->decoder;
      const auto own =
          decoder != nullptr && part.stride == 1 ? decoder->quantized_form() : std::nullopt;
      if (!own || columns_.begin % own->group != 0 || columns_.count % own->group != 0)
        return std::nullopt;
      form.group = std::gcd(form.group, own->group);
      form.bits = std::max(form.bits, own->bits);
      form.has_half_scales &= own->has_half_scales;
      form.has_minimums |= own->has_minimums;
    }
    if (form.has_minimums && (form.bits != 4 || !may_have_minimums_)) return std::nullopt;
    return form;
  }

  bool may_have_minimums_;
  Columns columns_;
  std::int64_t rows_ = 0;
  std::optional<QuantizedForm> form_;
};

// What a weight holds, and not only what it is called: the heads of a split vocabulary share their
// name.
std::string identity(const models::Projection& projection) {
  std::string key =
      fmt::format("{} [{}:{}]", projection.name, projection.input_begin, projection.inputs);
  for (const auto& part : projection.parts)
    key += fmt::format(" {}[{}, {}:{}:{}]", part.tensor, part.matrix, part.row_begin,
                       part.row_begin + part.rows * part.row_step, part.row_step);
  return key;
}

std::string identity(const std::string& name,
                     const std::vector<models::WeightProvider::Vector>& parts, const Shape& shape) {
  std::string key = name + to_string(shape);
  for (const auto& part : parts)
    key +=
        fmt::format(" {}[{}:{}:{}]+{}", part.tensor, part.begin, part.size, part.step, part.offset);
  return key;
}

}  // namespace

Result<const WeightRef*> WeightStore::require(const std::string& tensor, const Shape& shape) const {
  const WeightRef* weight = source_->expect(tensor, shape);
  if (weight == nullptr)
    return not_found("[{}] expected a tensor {} of shape {}, got none", source_->origin(), tensor,
                     to_string(shape));
  if (weight->shape != shape)
    return corrupt("[{}] expected tensor {} to have the shape {}, got {}", source_->origin(),
                   tensor, to_string(shape), to_string(weight->shape));
  if (!is_float(weight->dtype))
    return unsupported("[{}] expected tensor {} to hold floats, got {}", source_->origin(), tensor,
                       dtype_name(weight->dtype));
  return weight;
}

Result<quant::StoredWeight> WeightStore::make(const models::Projection& projection) const {
  std::vector<StackedRows::Part> parts;
  for (const auto& part : projection.parts) {
    if (!part.shape.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(const WeightRef* weight, require(part.tensor, part.shape));
      const std::int64_t all_rows = part.shape[part.shape.size() - (part.is_transposed ? 1 : 2)];
      StackedRows::Part& own = parts.emplace_back();
      own = {weight, part.row_begin, part.rows, part.row_step};
      if (part.is_transposed) {
        own.origin = part.matrix * all_rows * projection.tensor_inputs();
        own.stride = all_rows;
      } else {
        own.row_begin += part.matrix * all_rows;
      }
      continue;
    }
    // A part may be a range of a larger matrix (a vocabulary range of the head): its rows are
    // checked here.
    const WeightRef* found = source_->find(part.tensor);
    const bool covers = found != nullptr && found->shape.size() == 2 &&
                        found->shape[0] >= part.row_begin + part.rows;
    const bool whole = projection.role != models::WeightRole::kHead;
    const std::int64_t rows = covers && !whole ? found->shape[0] : part.row_begin + part.rows;
    ANEMONE_ASSIGN_OR_RETURN(const WeightRef* weight,
                             require(part.tensor, {rows, projection.tensor_inputs()}));
    parts.push_back({weight, part.row_begin, part.rows});
  }
  return quant::store_weight(
      recipe_.options_for(projection.role),
      std::make_shared<StackedRows>(source_, std::move(parts),
                                    StackedRows::Columns{projection.inputs, projection.input_begin,
                                                         projection.tensor_inputs()},
                                    // Rows of the head may be those of the embedding, which has no
                                    // place for them.
                                    projection.role != models::WeightRole::kHead),
      float_type_);
}

Result<const quant::StoredWeight*> WeightStore::stored(const models::Projection& projection) {
  const std::string key = identity(projection);
  auto it = projections_.find(key);
  if (it == projections_.end()) {
    ANEMONE_ASSIGN_OR_RETURN(quant::StoredWeight weight, make(projection));
    WeightReport report;
    report.name = projection.name;
    for (const auto& part : projection.parts) report.rows += part.rows;
    if (projection.role == models::WeightRole::kHead)
      report.name = fmt::format("head {}-{}", projection.parts.front().row_begin,
                                projection.parts.front().row_begin + report.rows - 1);
    report.columns = projection.inputs;
    report.scheme = weight.scheme;
    report.bytes = weight.bytes;
    report.is_passthrough = weight.is_passthrough;
    report.is_exact = weight.is_exact;
    for (const auto& part : projection.parts) {
      const std::string storage(source_->find(part.tensor)->storage());
      if (report.source.find(storage) == std::string::npos)
        report.source += (report.source.empty() ? "" : "+") + storage;
      report.is_source_quantized |= source_->find(part.tensor)->is_quantized();
    }
    it = projections_.emplace(key, Entry{std::move(report), std::move(weight)}).first;
    order_.push_back(&it->second);
  }
  return &it->second.weight;
}

quant::QuantOptions WeightStore::table_options(const WeightRef& table) const {
  quant::QuantOptions options = recipe_.options_for(models::WeightRole::kEmbedding);
  const bool is_passthrough = options.scheme == quant::Scheme::kPassthrough;
  if (table.is_quantized() && (options.keeps_bits || is_passthrough)) {
    options.scheme = quant::Scheme::kPassthrough;
  } else if (is_passthrough) {
    options.scheme = quant::Scheme::kNone;
  } else if (options.scheme != quant::Scheme::kNone && !recipe_.has_embedding_scheme()) {
    options.scheme = quant::Scheme::kInt8Block;
  }
  if (!recipe_.has_embedding_scheme()) options.block_size = kEmbeddingBlock;
  // Decided for the table, since a range of it has fewer elements.
  if (quant::stays_float(options, element_count(table.shape)))
    options.scheme = quant::Scheme::kNone;
  options.threshold = 0;
  // Likewise, the rows that share a palette.
  if (options.group_size != 0)
    options.group_size = quant::fitting_divisor(table.shape[0], options.group_size);
  options.keeps_bits = false;
  options.measure_error = false;
  return options;
}

Result<quant::StoredWeight> WeightStore::embedding_rows(const std::string& tensor,
                                                        const Shape& shape, std::int64_t begin,
                                                        std::int64_t count) const {
  ANEMONE_ASSIGN_OR_RETURN(const WeightRef* weight, require(tensor, shape));
  return quant::store_weight(
      table_options(*weight),
      std::make_shared<StackedRows>(source_, std::vector<StackedRows::Part>{{weight, begin, count}},
                                    StackedRows::Columns{shape[1], 0, shape[1]}),
      float_type_);
}

std::vector<WeightReport> WeightStore::reports() const {
  std::vector<WeightReport> reports;
  for (const Entry* entry : order_) {
    reports.push_back(entry->report);
    const auto& error = entry->weight.error;
    if (error != nullptr && error->is_measured()) reports.back().error = *error;
  }
  return reports;
}

ir::Value* WeightStore::projection(ir::Builder& builder, const models::Projection& projection) {
  if (!builder.status().ok()) return nullptr;
  const auto weight = stored(projection);
  if (weight.ok()) return quant::emit(builder, **weight, projection.name + "_weight");
  builder.fail(weight.status());
  return nullptr;
}

bool WeightStore::is_stored_as_float(const models::Projection& projection) {
  // It is no weight of the artifact yet: reports() has only those that projection() gave.
  const auto weight = make(projection);
  return weight.ok() && weight->scheme == quant::Scheme::kNone;
}

Result<ir::Literal> WeightStore::gather(const std::vector<Vector>& parts,
                                        const Shape& shape) const {
  std::vector<float> values;
  for (const Vector& part : parts) {
    ANEMONE_ASSIGN_OR_RETURN(
        const WeightRef* weight,
        require(part.tensor, part.shape.empty() ? Shape{part.size} : part.shape));
    const std::size_t begin = values.size();
    values.resize(begin + static_cast<std::size_t>(part.size));
    const std::span<float> own = std::span(values).subspan(begin);
    if (part.step == 1) {
      read_floats(*weight, part.begin, own);
    } else {
      for (std::size_t i = 0; i < own.size(); ++i)
        read_floats(*weight, part.begin + static_cast<std::int64_t>(i) * part.step,
                    own.subspan(i, 1));
    }
    if (part.offset != 0)
      for (float& value : own) value = static_cast<float>(static_cast<double>(value) + part.offset);
    const StackedRows row(source_, {{weight, 0, 1}}, {part.size, 0, part.size});
    ANEMONE_RETURN_IF_ERROR(quant::check_row(row, 0, own, float_type_));
  }
  Tensor tensor(float_type_, shape);
  store_floats(values, tensor.mutable_view());
  return ir::Literal::of(std::move(tensor));
}

ir::Value* WeightStore::vector(ir::Builder& builder, const std::vector<Vector>& parts, Shape shape,
                               const std::string& name) {
  if (!builder.status().ok()) return nullptr;
  const std::string key = identity(name, parts, shape);
  auto it = vectors_.find(key);
  if (it == vectors_.end()) {
    auto literal = gather(parts, shape);
    if (!literal.ok()) {
      builder.fail(literal.status());
      return nullptr;
    }
    it = vectors_.emplace(key, std::move(literal).value()).first;
  }
  return builder.constant(it->second, name);
}

}  // namespace anemone::compiler

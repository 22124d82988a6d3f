// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/runs.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/elementwise/division.h"

namespace anemone::kernels::reference {
namespace {

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t out = 1;
  for (std::size_t i = begin; i < end; ++i) out *= shape[i];
  return out;
}

// How the indices of a call are checked.
struct Indexing {
  std::string_view label;      // what errors about an index name
  bool allow_negative = true;  // whether negative indices count from the end
};
Indexing indexing_of(const KernelCall& call, std::string_view label) {
  return {label, !call.boolean("validate_indices", false)};
}

Result<std::size_t> axis_of(const KernelCall& call, const Shape& shape) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), shape.size()));
  return static_cast<std::size_t>(axis);
}
std::size_t batch_dims_of(const KernelCall& call) {
  return static_cast<std::size_t>(call.integer("batch_dims", 0));
}

// The index as a coordinate of [0, size).
Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size,
                                   const Indexing& indexing) {
  const std::int64_t least = indexing.allow_negative ? -size : 0;
  if (index < least || index >= size)
    return corrupt("expected an index of {} to {}, got {} ({})", least, size - 1, index,
                   indexing.label);
  return index < 0 ? index + size : index;
}

enum class Mode { kAdd, kSub, kMul, kDiv, kMax, kMin };

Mode parse_mode(std::string_view text) {
  if (text == "sub") return Mode::kSub;
  if (text == "mul") return Mode::kMul;
  if (text == "div") return Mode::kDiv;
  if (text == "max") return Mode::kMax;
  if (text == "min") return Mode::kMin;
  return Mode::kAdd;
}

template <typename C>
C apply(Mode mode, C old, C update) {
  switch (mode) {
    case Mode::kAdd:
      return old + update;
    case Mode::kSub:
      return old - update;
    case Mode::kMul:
      return old * update;
    case Mode::kDiv:
      return true_quotient(old, update);
    case Mode::kMax:
      return std::max(old, update);
    case Mode::kMin:
      break;
  }
  return std::min(old, update);
}

}  // namespace

Result<Runs> runs_on_axis(const KernelCall& call, std::string_view tensor, std::string_view label) {
  const Shape shape = call.input(tensor).shape;
  const TensorView indices = call.input("indices");
  const Indexing indexing = indexing_of(call, label);
  const std::size_t batch_dims = batch_dims_of(call);
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(call, shape));
  const std::int64_t batches = product(shape, 0, batch_dims);
  const std::int64_t outer = product(shape, batch_dims, axis);
  const std::int64_t size = shape[axis];
  const std::int64_t count = product(indices.shape, batch_dims, indices.shape.size());
  Runs runs;
  runs.length = product(shape, axis + 1, shape.size());
  std::vector<std::int64_t> places = to_ints(indices);
  for (std::int64_t& place : places) {
    ANEMONE_ASSIGN_OR_RETURN(place, checked_index(place, size, indexing));
  }
  // The loops below would turn `batches * outer * count` times for empty runs, and with a count of
  // 0 `batches * outer` times for none: no memory bounds these numbers.
  if (runs.length == 0 || places.empty()) return runs;
  runs.offsets.reserve(static_cast<std::size_t>(batches * outer * count));
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(b * count + i)];
        runs.offsets.push_back(((b * outer + o) * size + place) * runs.length);
      }
  return runs;
}

Result<Runs> runs_along_axis(const KernelCall& call, std::string_view tensor,
                             std::string_view label) {
  const Shape shape = call.input(tensor).shape;
  const TensorView indices = call.input("indices");
  const Indexing indexing = indexing_of(call, label);
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(call, shape));
  const std::int64_t outer = product(shape, 0, axis);
  const std::int64_t inner = product(shape, axis + 1, shape.size());
  const std::int64_t count = indices.shape[axis];
  const std::vector<std::int64_t> places = to_ints(indices);
  Runs runs;
  if (places.empty()) return runs;  // no memory bounds `outer` then
  runs.offsets.reserve(places.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count * inner; ++i) {
      ANEMONE_ASSIGN_OR_RETURN(const std::int64_t place,
                               checked_index(places[runs.offsets.size()], shape[axis], indexing));
      runs.offsets.push_back((o * shape[axis] + place) * inner + i % inner);
    }
  return runs;
}

Result<Runs> runs_at_points(const KernelCall& call, std::string_view tensor,
                            std::string_view label) {
  const Shape shape = call.input(tensor).shape;
  const TensorView indices = call.input("indices");
  const Indexing indexing = indexing_of(call, label);
  const std::size_t batch_dims = batch_dims_of(call);
  const std::int64_t depth = indices.shape.back();
  const std::size_t end = batch_dims + static_cast<std::size_t>(depth);
  const std::int64_t batches = product(shape, 0, batch_dims);
  const std::int64_t points = product(indices.shape, batch_dims, indices.shape.size() - 1);
  const std::vector<std::int64_t> places = to_ints(indices);
  Runs runs;
  runs.length = product(shape, end, shape.size());
  // Without points there are no runs, and without coordinates (a depth of 0) there may be any
  // number of empty ones: no memory bounds how often the loops below would turn. Indices of empty
  // runs are checked, and a point without coordinates names a whole batch.
  if (points == 0 || (runs.length == 0 && places.empty())) return runs;
  runs.offsets.reserve(static_cast<std::size_t>(batches * points));
  std::size_t next = 0;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t p = 0; p < points; ++p) {
      std::int64_t offset = b;
      for (std::size_t d = batch_dims; d < end; ++d) {
        ANEMONE_ASSIGN_OR_RETURN(const std::int64_t place,
                                 checked_index(places[next++], shape[d], indexing));
        offset = offset * shape[d] + place;
      }
      runs.offsets.push_back(offset * runs.length);
    }
  return runs;
}

void gather_runs(const KernelCall& call, const Runs& runs) {
  const TensorView x = call.input("x");
  const MutableTensorView out = call.output();
  const std::int64_t element = dtype_bits(x.dtype) / 8;
  const std::int64_t bytes = runs.length * element;
  if (bytes == 0) return;
  // A task copies about 64 KiB, so that starting it costs little beside it.
  call.threads().parallel_for(static_cast<std::int64_t>(runs.offsets.size()), 64 * 1024 / bytes + 1,
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t i = begin; i < end; ++i)
                                  std::memcpy(
                                      out.data + i * bytes,
                                      x.data + runs.offsets[static_cast<std::size_t>(i)] * element,
                                      static_cast<std::size_t>(bytes));
                              });
}

Status scatter_runs(const KernelCall& call, const Runs& runs) {
  const std::string_view name = call.text("mode", "add");
  const TensorView data = call.input("data");
  const TensorView updates = call.input("updates");
  const MutableTensorView out = call.output();
  if (name == "update") {
    if (data.data != out.data) std::copy_n(data.data, data.size_bytes(), out.data);
    const std::int64_t element = dtype_bits(data.dtype) / 8;
    const std::int64_t bytes = runs.length * element;
    const std::byte* from = updates.data;
    for (const std::int64_t offset : runs.offsets) {
      std::copy_n(from, bytes, out.data + offset * element);
      from += bytes;
    }
    return ok_status();
  }
  const Mode mode = parse_mode(name);
  return visit_numeric(out.dtype, [&]<typename T>(T) {
    const auto before = data.as<T>();
    const auto terms = updates.as<T>();
    std::vector<Computed<T>> values(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) values[i] = load_element(before[i]);
    std::size_t next = 0;
    for (const std::int64_t offset : runs.offsets)
      for (std::int64_t i = 0; i < runs.length; ++i) {
        Computed<T>& value = values[static_cast<std::size_t>(offset + i)];
        value = apply(mode, value, load_element(terms[next++]));
        // Keeps integers in 32 bits, so that long chains of products cannot overflow 64.
        if constexpr (std::is_integral_v<T>) value = static_cast<T>(value);
      }
    const auto after = out.as<T>();
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = store_element<T>(values[i]);
  });
}

}  // namespace anemone::kernels::reference

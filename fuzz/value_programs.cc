// SPDX-License-Identifier: Apache-2.0
#include "fuzz/value_programs.h"

#include <cstdio>

#include "base/check.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace anemone::fuzz {
namespace {

using ir::Builder;
using ir::Literal;
using ir::Opset;
using ir::Type;
using ir::Value;

// A program with one function, whose inputs decide what its operations count and place.
struct Seed {
  explicit Seed(Opset opset) : b(program, ops::op_registry(), "main", opset) {}

  Value* ints(const char* name, Shape shape) {
    return b.input(name, Type::tensor(DType::kInt32, std::move(shape)));
  }
  Value* floats(const char* name, Shape shape) {
    return b.input(name, Type::tensor(DType::kFp32, std::move(shape)));
  }
  // The value with a shape that the program declares, where the type rule leaves it open. A run in
  // which the operation gives another one has to be refused.
  Value* declared(Value* value, Shape shape) {
    ANEMONE_CHECK(b.status().ok());
    value->type.shape = std::move(shape);
    return value;
  }
  ir::Program finish(std::vector<Value*> outputs) {
    const Status status = b.finish(std::move(outputs));
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    ANEMONE_CHECK(status.ok());
    return std::move(program);
  }

  ir::Program program;
  Builder b;
};

ir::Program slices() {
  Seed s(Opset::kIOS18);
  Value* x = s.floats("x", {4, 6});
  Value* begin = s.ints("begin", {2});
  Value* end = s.ints("end", {2});
  Value* lengths = s.ints("lengths", {4});
  Value* update = s.floats("update", {2, 3});
  Value* reversed = s.b.op("reverse_sequence", {{"x", x},
                                                {"lengths", lengths},
                                                {"seq_axis", Literal::int32(1)},
                                                {"batch_axis", Literal::int32(0)}});
  Value* part = s.b.op("slice_by_index", {{"x", reversed}, {"begin", begin}, {"end", end}});
  Value* fixed = s.declared(
      s.b.op("slice_by_size", {{"x", x}, {"begin", begin}, {"size", Literal::int32s({2, 3})}}),
      {2, 3});
  Value* updated =
      s.b.op("slice_update", {{"x", x}, {"update", update}, {"begin", begin}, {"end", end}});
  return s.finish({part, s.b.op("add", {{"x", fixed}, {"y", update}}), updated});
}

ir::Program indices() {
  Seed s(Opset::kIOS18);
  Value* x = s.floats("x", {4, 6});
  Value* at = s.ints("at", {3});
  Value* points = s.ints("points", {2, 2});
  Value* along = s.ints("along", {4, 2});
  Value* updates = s.floats("updates", {3, 6});
  const auto gather = [&](const char* op, Value* places, bool is_checked) {
    std::vector<Builder::Input> inputs = {{"x", x}, {"indices", places}};
    if (std::string_view(op) != "gather_nd")
      inputs.push_back({"axis", Literal::int32(std::string_view(op) == "gather" ? 0 : 1)});
    inputs.push_back({"validate_indices", Literal::boolean(is_checked)});
    return s.b.op(op, std::move(inputs));
  };
  Value* rows = gather("gather", at, false);
  Value* checked = gather("gather", at, true);
  Value* scattered = s.b.op("scatter", {{"data", x},
                                        {"indices", at},
                                        {"updates", updates},
                                        {"axis", Literal::int32(0)},
                                        {"mode", Literal::text("update")},
                                        {"validate_indices", Literal::boolean(false)}});
  Value* hot = s.b.op("one_hot", {{"indices", at}, {"one_hot_vector_size", Literal::int32(5)}});
  return s.finish({rows, checked, gather("gather_nd", points, false),
                   gather("gather_along_axis", along, false), scattered, hot});
}

ir::Program sizes() {
  Seed s(Opset::kIOS18);
  Value* x = s.floats("x", {2, 3});
  Value* n = s.ints("n", {2});
  Value* one = s.ints("one", {1});
  Value* count = s.b.op("squeeze", {{"x", one}, {"axes", Literal::int32s({0})}});
  Value* filled =
      s.b.op("fill", {{"shape", n}, {"value", Literal::number(1, DType::kFp32)}}, "filled");
  Value* tiled = s.b.op("tile", {{"x", x}, {"reps", n}});
  Value* padded = s.b.op("pad", {{"x", x},
                                 {"pad", n},
                                 {"mode", Literal::text("reflect")},
                                 {"constant_val", Literal::number(0, DType::kFp32)}});
  Value* range = s.b.op("range_1d", {{"start", s.b.constant(Literal::int32(0), "zero")},
                                     {"end", count},
                                     {"step", s.b.constant(Literal::int32(1), "step")}});
  Value* shaped = s.b.op("reshape", {{"x", x}, {"shape", n}});
  Value* drawn = s.b.op("random_uniform", {{"shape", n}});
  Value* found = s.b.op("non_zero", {{"x", x}});
  return s.finish({filled, tiled, padded, range, shaped, drawn, found});
}

ir::Program pictures() {
  Seed s(Opset::kIOS17);  // the first opset with box_indices
  Value* x = s.floats("x", {2, 1, 4, 5});
  Value* boxes = s.floats("boxes", {3, 4});
  Value* box_indices = s.ints("of", {3});
  Value* at = s.floats("at", {2, 3, 3, 2});
  Value* matrix = s.floats("matrix", {2, 6});
  Value* cut = s.b.op("crop_resize", {{"x", x},
                                      {"boxes", boxes},
                                      {"box_indices", box_indices},
                                      {"target_height", Literal::int32(2)},
                                      {"target_width", Literal::int32(3)}});
  Value* sampled =
      s.b.op("resample", {{"x", x},
                          {"coordinates", at},
                          {"sampling_mode", Literal::text("bilinear")},
                          {"padding_mode", Literal::text("symmetric")},
                          {"padding_value", Literal::number(0, DType::kFp32)},
                          {"coordinates_mode", Literal::text("normalized_minus_one_to_one")},
                          {"align_corners", Literal::boolean(false)}});
  Value* moved =
      s.b.op("affine", {{"x", x},
                        {"transform_matrix", matrix},
                        {"output_height", Literal::int32(3)},
                        {"output_width", Literal::int32(2)},
                        {"sampling_mode", Literal::text("bilinear")},
                        {"padding_mode", Literal::text("constant")},
                        {"padding_value", Literal::number(0, DType::kFp32)},
                        {"coordinates_mode", Literal::text("normalized_minus_one_to_one")},
                        {"align_corners", Literal::boolean(true)}});
  return s.finish({cut, sampled, moved});
}

ir::Program lists() {
  Seed s(Opset::kIOS18);
  Value* x = s.floats("x", {2});
  Value* more = s.floats("more", {3, 2});
  Value* at = s.ints("at", {1});
  Value* places = s.ints("places", {3});
  Value* index = s.b.op("squeeze", {{"x", at}, {"axes", Literal::int32s({0})}});
  Value* list = s.b.op("make_list",
                       {{"init_length", Literal::int32(3)},
                        {"dynamic_length", Literal::boolean(true)},
                        {"elem_shape", std::vector<Value*>{s.b.constant(Literal::int32(2), "two")}},
                        {"dtype", Literal::text("fp32")}});
  Value* written = s.b.op("list_write", {{"ls", list}, {"index", index}, {"value", x}});
  Value* scattered =
      s.b.op("list_scatter", {{"ls", written}, {"indices", places}, {"value", more}});
  return s.finish({s.b.op("list_read", {{"ls", scattered}, {"index", index}}),
                   s.b.op("list_gather", {{"ls", scattered}, {"indices", places}})});
}

}  // namespace

std::vector<std::pair<std::string, ir::Program>> value_programs() {
  std::vector<std::pair<std::string, ir::Program>> out;
  out.emplace_back("slices", slices());
  out.emplace_back("indices", indices());
  out.emplace_back("sizes", sizes());
  out.emplace_back("pictures", pictures());
  out.emplace_back("lists", lists());
  return out;
}

}  // namespace anemone::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/op_case.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "tensor/bits.h"

namespace anemone::testing {
namespace {

Result<double> parse_value(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return parse_error("expected a number, got {}", dump_json(value));
}

template <typename T>
void fill_integers(const std::vector<double>& values, const MutableTensorView& out) {
  auto target = out.as<T>();
  for (std::size_t i = 0; i < values.size(); ++i)
    target[i] = static_cast<T>(static_cast<std::int64_t>(values[i]));
}

// Fills without store_floats, since int32 values must not go through float.
Status fill(const std::vector<double>& values, const MutableTensorView& out) {
  switch (out.dtype) {
    case DType::kInt32:
      fill_integers<std::int32_t>(values, out);
      return ok_status();
    case DType::kInt64:
      fill_integers<std::int64_t>(values, out);
      return ok_status();
    case DType::kUInt32:
      fill_integers<std::uint32_t>(values, out);
      return ok_status();
    case DType::kString:
      return parse_error("expected numbers, got a tensor of strings");
    default:
      break;
  }
  if (is_sub_byte(out.dtype)) {
    std::vector<std::int32_t> integers;
    for (const double value : values) integers.push_back(static_cast<std::int32_t>(value));
    pack_bits(integers, out.dtype, out.bytes());
    return ok_status();
  }
  std::vector<float> floats;
  for (const double value : values) floats.push_back(static_cast<float>(value));
  store_floats(floats, out);
  return ok_status();
}

Result<Argument> parse_argument(const Json& json, bool must_have_values) {
  Argument argument;
  if (const Json* text = json_member(json, "text")) {
    argument.type = ir::Type::scalar(DType::kString);
    argument.text = text->get<std::string>();
    return argument;
  }
  const Json* dtype_text = json_member(json, "dtype");
  const Json* shape_json = json_member(json, "shape");
  if (dtype_text == nullptr || shape_json == nullptr)
    return parse_error("expected \"dtype\" and \"shape\", got {}", dump_json(json));
  const auto dtype = parse_dtype(dtype_text->get<std::string>());
  if (!dtype) return parse_error("expected a dtype, got {}", dump_json(*dtype_text));
  Shape shape;
  for (const Json& dim : *shape_json) shape.push_back(dim.get<std::int64_t>());
  const Json* values_json = json_member(json, "values");
  const bool is_state = json_member(json, "state") != nullptr && json.at("state").get<bool>();
  argument.type = is_state ? ir::Type::state(*dtype, shape) : ir::Type::tensor(*dtype, shape);
  if (values_json == nullptr) {
    if (must_have_values) return parse_error("expected \"values\", got {}", dump_json(json));
    return argument;
  }
  std::vector<double> values;
  for (const Json& value : *values_json) {
    ANEMONE_ASSIGN_OR_RETURN(const double number, parse_value(value));
    values.push_back(number);
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(shape));
  if (count != static_cast<std::int64_t>(values.size()))
    return parse_error("expected {} values for {}, got {}", count, to_string(shape), values.size());
  argument.tensor.emplace(*dtype, shape);
  ANEMONE_RETURN_IF_ERROR(fill(values, argument.tensor->mutable_view()));
  return argument;
}

bool flag(const Json& json, std::string_view key) {
  const Json* member = json_member(json, key);
  return member != nullptr && member->get<bool>();
}

Result<OpCase> parse_case(const Json& json, const std::string& file) {
  OpCase out;
  out.file = file;
  out.name = json.at("name").get<std::string>();
  out.op = json.at("op").get<std::string>();
  if (const Json* opset = json_member(json, "opset")) {
    const auto parsed = ir::parse_opset_target(opset->get<std::string>());
    if (!parsed) return parse_error("expected an opset, got {}", dump_json(*opset));
    out.opset = *parsed;
  }
  if (const Json* error = json_member(json, "error")) out.error = error->get<std::string>();
  if (const Json* constraint = json_member(json, "hidden_error"))
    out.hidden_error = constraint->get<std::string>();
  out.needs_values = flag(json, "needs_values");
  out.no_kernel = flag(json, "no_kernel");
  out.defaults_differ = flag(json, "defaults_differ");
  const bool must_have_values = out.error.empty() && !out.no_kernel;
  for (const auto& [parameter, value] : json.at("inputs").items()) {
    std::vector<Argument>& arguments = out.inputs[parameter];
    const Json* list = json_member(value, "list");
    if (list == nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(Argument argument, parse_argument(value, must_have_values));
      arguments.push_back(std::move(argument));
      continue;
    }
    for (const Json& item : *list) {
      ANEMONE_ASSIGN_OR_RETURN(Argument argument, parse_argument(item, must_have_values));
      arguments.push_back(std::move(argument));
    }
  }
  if (const Json* outputs = json_member(json, "outputs")) {
    for (const Json& output : *outputs) {
      ANEMONE_ASSIGN_OR_RETURN(Argument argument, parse_argument(output, must_have_values));
      out.outputs.push_back(std::move(argument));
    }
  }
  if (const Json* tolerance = json_member(json, "tolerance"))
    out.tolerance = Tolerance{tolerance->value("abs", 0.0), tolerance->value("rel", 0.0)};
  return out;
}

}  // namespace

Result<std::vector<OpCase>> read_op_cases(const std::string& path) {
  const std::string file = std::filesystem::path(path).stem().string();
  ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(path));
  std::vector<OpCase> cases;
  for (const Json& item : json) {
    try {
      auto parsed = parse_case(item, file);
      if (!parsed.ok()) return parsed.status().with(item.at("name").get<std::string>());
      cases.push_back(std::move(parsed).value());
    } catch (const Json::exception& error) {  // at() and get() of a case that lacks a field
      return parse_error("[{}] {} (case {})", path, error.what(), cases.size());
    }
  }
  return cases;
}

}  // namespace anemone::testing

// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/onnx/onnx_graph.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/inner_file.h"

namespace anemone::checkpoint::onnx {
namespace {

constexpr std::size_t kMaxNodes = 1 << 20;

const std::string kNothing;

// TensorProto.DataType.
std::optional<DType> dtype_of(std::int64_t type) {
  switch (type) {
    case 1:
      return DType::kFp32;
    case 2:
      return DType::kUInt8;
    case 3:
      return DType::kInt8;
    case 6:
      return DType::kInt32;
    case 7:
      return DType::kInt64;
    case 9:
      return DType::kBool;
    case 10:
      return DType::kFp16;
    case 16:
      return DType::kBf16;
    default:
      return std::nullopt;
  }
}

template <typename T>
void append(std::vector<std::byte>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

// One element of a list of varints, in the bytes of the tensor's type.
void append_integer(std::vector<std::byte>& out, DType dtype, std::uint64_t value) {
  switch (dtype_bytes(dtype, 1)) {
    case 1:
      return append(out, static_cast<std::uint8_t>(value));
    case 2:
      return append(out, static_cast<std::uint16_t>(value));
    case 4:
      return append(out, static_cast<std::uint32_t>(value));
    default:
      return append(out, value);
  }
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::uint64_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return out;
}

struct DataPlace {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

}  // namespace

const std::string& Node::input(std::size_t i) const {
  return i < inputs.size() ? inputs[i] : kNothing;
}
const std::string& Node::output(std::size_t i) const {
  return i < outputs.size() ? outputs[i] : kNothing;
}
std::int64_t Node::integer(std::string_view key, std::int64_t fallback) const {
  const auto it = integers.find(key);
  return it == integers.end() ? fallback : it->second;
}
float Node::number(std::string_view key, float fallback) const {
  const auto it = numbers.find(key);
  return it == numbers.end() ? fallback : it->second;
}

Result<std::shared_ptr<const OnnxGraph>> OnnxGraph::open(const std::string& path) {
  auto graph = std::make_shared<OnnxGraph>();
  graph->path_ = path;
  ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  graph->files_[path] = file;
  graph->model_ = file.get();
  const Status read = graph->read_model(file->bytes());
  ANEMONE_RETURN_IF_ERROR(check_mapped_files());
  ANEMONE_RETURN_IF_ERROR(read);
  ANEMONE_RETURN_IF_ERROR(graph->index());
  return std::shared_ptr<const OnnxGraph>(std::move(graph));
}

const Constant* OnnxGraph::constant(std::string_view name) const {
  const auto it = constants_.find(name);
  return it == constants_.end() ? nullptr : &it->second;
}

const Node* OnnxGraph::producer(std::string_view value) const {
  const auto it = producer_of_.find(value);
  return it == producer_of_.end() ? nullptr : &nodes_[it->second];
}

std::vector<const Node*> OnnxGraph::consumers(std::string_view value) const {
  std::vector<const Node*> out;
  const auto [begin, end] = consumers_of_.equal_range(value);
  for (auto it = begin; it != end; ++it) out.push_back(&nodes_[it->second]);
  return out;
}

std::vector<std::string> OnnxGraph::files() const {
  std::vector<std::string> out;
  for (const auto& [path, file] : files_) out.push_back(path);
  return out;
}

Status OnnxGraph::read_model(std::span<const std::byte> bytes) {
  ProtoFields fields(bytes, path_);
  ProtoField field;
  bool has_graph = false;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const bool is_there, fields.next(field));
    if (!is_there) break;
    if (field.number != 7 || !field.is_bytes) continue;
    if (has_graph) return corrupt("[{}] expected one graph, got several", path_);
    has_graph = true;
    ANEMONE_RETURN_IF_ERROR(read_graph(field.bytes));
  }
  if (!has_graph) return corrupt("[{}] expected an ONNX model, got no graph", path_);
  return {};
}

Status OnnxGraph::read_graph(std::span<const std::byte> bytes) {
  ProtoFields fields(bytes, path_);
  ProtoField field;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const bool is_there, fields.next(field));
    if (!is_there) return {};
    if (!field.is_bytes) continue;
    if (field.number == 1) {
      ANEMONE_RETURN_IF_ERROR(read_node(field.bytes));
    } else if (field.number == 5) {
      ANEMONE_ASSIGN_OR_RETURN(Constant constant, read_constant(field.bytes));
      if (constant.name.empty() || constants_.contains(constant.name))
        return corrupt("[{}] expected constants with names of their own, got \"{}\"", path_,
                       constant.name);
      constants_.emplace(constant.name, std::move(constant));
    } else if (field.number == 15) {
      return unsupported("[{}] expected dense constants, got a sparse one", path_);
    }
  }
}

Status OnnxGraph::read_node(std::span<const std::byte> bytes) {
  if (nodes_.size() >= kMaxNodes)
    return unsupported("[{}] expected at most {} nodes", path_, kMaxNodes);
  Node node;
  ProtoFields fields(bytes, path_);
  ProtoField field;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const bool is_there, fields.next(field));
    if (!is_there) break;
    if (!field.is_bytes) continue;
    if (field.number == 1) node.inputs.emplace_back(field.text());
    if (field.number == 2) node.outputs.emplace_back(field.text());
    if (field.number == 3) node.name = field.text();
    if (field.number == 4) node.op = field.text();
    if (field.number == 5) ANEMONE_RETURN_IF_ERROR(read_attribute(field.bytes, node));
    if (field.number == 7) node.domain = field.text();
  }
  nodes_.push_back(std::move(node));
  return {};
}

Status OnnxGraph::read_attribute(std::span<const std::byte> bytes, Node& node) {
  std::string name;
  std::optional<std::int64_t> integer;
  std::optional<float> number;
  std::optional<Constant> constant;
  ProtoFields fields(bytes, path_);
  ProtoField field;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const bool is_there, fields.next(field));
    if (!is_there) break;
    if (field.number == 1 && field.is_bytes) name = field.text();
    if (field.number == 2 && !field.is_bytes) number = field.number32();
    if (field.number == 3 && !field.is_bytes) integer = field.integer();
    if (field.number == 5 && field.is_bytes) {
      ANEMONE_ASSIGN_OR_RETURN(constant, read_constant(field.bytes));
    }
  }
  if (integer) node.integers[name] = *integer;
  if (number) node.numbers[name] = *number;
  // What a Constant node gives is a constant like any other.
  if (constant && node.op == "Constant" && !node.output(0).empty()) {
    constant->name = node.output(0);
    constants_.insert_or_assign(node.output(0), *constant);
  }
  return {};
}

Result<Constant> OnnxGraph::read_constant(std::span<const std::byte> bytes) {
  Constant out;
  std::optional<DType> dtype;
  std::int64_t type = 0;
  bool is_external = false;
  bool has_raw = false;
  DataPlace place;
  std::vector<std::span<const std::byte>> packed;  // lists of numbers, in the wire form
  std::vector<std::byte> list;
  ProtoFields fields(bytes, path_);
  ProtoField field;
  std::vector<ProtoField> numbers;
  while (true) {
    ANEMONE_ASSIGN_OR_RETURN(const bool is_there, fields.next(field));
    if (!is_there) break;
    switch (field.number) {
      case 1:  // dims
        if (field.is_bytes) {
          ProtoFields dims(field.bytes, path_);
          while (!dims.is_at_end()) {
            ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t dim, dims.varint());
            out.shape.push_back(static_cast<std::int64_t>(dim));
          }
        } else {
          out.shape.push_back(field.integer());
        }
        break;
      case 2:
        type = field.integer();
        dtype = dtype_of(type);
        break;
      case 4:  // float_data
      case 5:  // int32_data
      case 7:  // int64_data
        numbers.push_back(field);
        break;
      case 8:
        out.name = field.text();
        break;
      case 9:
        has_raw = true;
        out.bytes = field.bytes;
        break;
      case 13: {
        ProtoFields entry(field.bytes, path_);
        ProtoField part;
        std::string key;
        std::string value;
        while (true) {
          ANEMONE_ASSIGN_OR_RETURN(const bool has_part, entry.next(part));
          if (!has_part) break;
          if (part.number == 1) key = part.text();
          if (part.number == 2) value = part.text();
        }
        if (key == "location") {
          place.location = value;
        } else if (key == "offset" || key == "length") {
          const auto number = to_number(value);
          if (!number)
            return corrupt("[{}] expected a {} of {}, got \"{}\"", path_, key, out.name, value);
          if (key == "offset") place.offset = *number;
          if (key == "length") place.length = *number;
        }
        break;
      }
      case 14:
        is_external = field.value == 1;
        break;
      default:
        break;
    }
  }
  if (!dtype)
    return unsupported("[{}] expected elements of a known type in {}, got type {}", path_, out.name,
                       type);
  out.dtype = *dtype;
  out.file = model_;
  const auto count = checked_element_count(out.shape);
  if (!count.ok())
    return corrupt("[{}] expected a size of {}, got {}", path_, out.name, to_string(out.shape));
  const std::uint64_t want = dtype_bytes(out.dtype, static_cast<std::uint64_t>(*count));
  if (is_external) {
    ANEMONE_RETURN_IF_ERROR(find_data(place.location, place.offset, place.length, out));
    if (out.bytes.size() > want && !place.length)
      out.bytes = out.bytes.first(static_cast<std::size_t>(want));
  } else if (!has_raw) {
    auto storage = std::make_unique<std::vector<std::byte>>();
    for (const ProtoField& number : numbers) {
      if (storage->size() > want) break;
      if (!number.is_bytes) {
        number.number == 4 ? append(*storage, number.number32())
                           : append_integer(*storage, out.dtype, number.value);
      } else if (number.number == 4) {
        storage->insert(storage->end(), number.bytes.begin(), number.bytes.end());
      } else {
        ProtoFields values(number.bytes, path_);
        while (!values.is_at_end()) {
          ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t value, values.varint());
          append_integer(*storage, out.dtype, value);
        }
      }
    }
    out.bytes = *storage;
    out.file = nullptr;
    lists_.push_back(std::move(storage));
  }
  if (out.bytes.size() != want)
    return corrupt("[{}] expected {} bytes for {} {}, got {}", path_, want, out.name,
                   to_string(out.shape), out.bytes.size());
  // Inside the model a constant begins anywhere.
  const std::uint64_t element = dtype_bytes(out.dtype, 1);
  if (reinterpret_cast<std::uintptr_t>(out.bytes.data()) % element != 0) {
    lists_.push_back(std::make_unique<std::vector<std::byte>>(out.bytes.begin(), out.bytes.end()));
    out.bytes = *lists_.back();
    out.file = nullptr;
  }
  return out;
}

Status OnnxGraph::find_data(std::string_view location, std::uint64_t offset,
                            std::optional<std::uint64_t> length, Constant& constant) {
  namespace fs = std::filesystem;
  const fs::path relative{std::string(location)};
  // The file must lie beside the model or below it: naming it must not make anemone read anything
  // else.
  const bool leads_out = std::any_of(relative.begin(), relative.end(),
                                     [](const fs::path& part) { return part == ".."; });
  if (location.empty() || relative.is_absolute() || leads_out)
    return corrupt("[{}] expected the data of {} in a file beside the model, got \"{}\"", path_,
                   constant.name, location);
  ANEMONE_ASSIGN_OR_RETURN(const std::string path,
                           inner_file(fs::path(path_).parent_path().string(), location));
  auto& file = files_[path];
  if (file == nullptr) {
    auto opened = MappedFile::open(path);
    if (!opened.ok()) {
      files_.erase(path);
      return opened.status().with("the weights of " + path_);
    }
    file = *opened;
  }
  const auto bytes = file->bytes();
  if (offset > bytes.size() || length.value_or(0) > bytes.size() - offset)
    return corrupt("[{}] expected {} bytes from byte {} for {}, got a file of {} bytes", path,
                   length.value_or(0), offset, constant.name, bytes.size());
  constant.bytes = bytes.subspan(static_cast<std::size_t>(offset));
  if (length) constant.bytes = constant.bytes.first(static_cast<std::size_t>(*length));
  constant.file = file.get();
  return {};
}

Status OnnxGraph::index() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& output : nodes_[i].outputs)
      if (!output.empty() && !producer_of_.emplace(output, i).second)
        return corrupt("[{}] expected one node to give {}, got two", path_, output);
    for (const std::string& input : nodes_[i].inputs)
      if (!input.empty()) consumers_of_.emplace(input, i);
  }
  return {};
}

}  // namespace anemone::checkpoint::onnx

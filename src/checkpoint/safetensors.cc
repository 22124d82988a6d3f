// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "base/json.h"
#include "checkpoint/file_kind.h"
#include "checkpoint/fp8.h"

namespace anemone::checkpoint {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxHeaderMemory = 512 << 20;  // hundreds of thousands of tensors

struct DTypeRow {
  std::string_view name;
  DType dtype;
};
constexpr std::array<DTypeRow, 12> kDTypes = {{{"F32", DType::kFp32},
                                               {"F16", DType::kFp16},
                                               {"BF16", DType::kBf16},
                                               {"F64", DType::kFp64},
                                               {"I64", DType::kInt64},
                                               {"I32", DType::kInt32},
                                               {"I16", DType::kInt16},
                                               {"I8", DType::kInt8},
                                               {"U8", DType::kUInt8},
                                               {"BOOL", DType::kBool},
                                               {"U16", DType::kUInt16},
                                               {"U32", DType::kUInt32}}};
// Read as floats, never written.
constexpr std::string_view kFp8 = "F8_E4M3";

Result<std::int64_t> non_negative(const Json& value, std::string_view what) {
  if (!value.is_number_integer())
    return parse_error("expected {} to be an integer, got {}", what, value.type_name());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    return corrupt("{} is too large", what);
  const auto number = value.get<std::int64_t>();
  if (number < 0) return corrupt("expected {} to be at least 0, got {}", what, number);
  return number;
}

// A header entry to a reference into `data`.
Result<WeightRef> parse_entry(const std::string& name, const Json& entry,
                              std::span<const std::byte> data) {
  if (!entry.is_object()) return parse_error("expected an object, got {}", entry.type_name());
  for (const auto& [key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return parse_error("unknown key \"{}\"", key);
  WeightRef weight;
  weight.name = name;
  const Json* dtype = json_member(entry, "dtype");
  if (dtype == nullptr || !dtype->is_string()) return parse_error("expected a dtype");
  const auto text = dtype->get<std::string>();
  const auto row = std::find_if(kDTypes.begin(), kDTypes.end(),
                                [&](const DTypeRow& r) { return r.name == text; });
  if (text == kFp8) {
    weight.dtype = DType::kFp32;
    weight.decoder = &fp8_decoder();
  } else if (row == kDTypes.end()) {
    return unsupported("the dtype {} is not supported", text);
  } else {
    weight.dtype = row->dtype;
  }
  const Json* shape = json_member(entry, "shape");
  const Json* offsets = json_member(entry, "data_offsets");
  if (shape == nullptr || !shape->is_array() || shape->size() > 16)
    return parse_error("expected a shape of at most 16 dimensions");
  if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2)
    return parse_error("expected data_offsets of two numbers");
  for (const Json& dim : *shape) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t size, non_negative(dim, "a dimension"));
    weight.shape.push_back(size);
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t begin,
                           non_negative((*offsets)[0], "data_offsets[0]"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t end, non_negative((*offsets)[1], "data_offsets[1]"));
  if (begin > end || static_cast<std::uint64_t>(end) > data.size())
    return corrupt("expected data_offsets within {} bytes, got [{}, {}]", data.size(), begin, end);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(weight.shape));
  const std::uint64_t bytes = dtype_bytes(weight.decoder != nullptr ? DType::kUInt8 : weight.dtype,
                                          static_cast<std::uint64_t>(count));
  if (bytes != static_cast<std::uint64_t>(end - begin))
    return corrupt("{} {} takes {} bytes, data_offsets give {}", text, to_string(weight.shape),
                   bytes, end - begin);
  weight.bytes =
      data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return weight;
}

// Where the data of the last tensor ends; 0 for a header that says nothing of it, or too much for
// any disk.
std::uint64_t end_of_data(const Json& header) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  std::uint64_t end = 0;
  for (const auto& [name, entry] : header.items()) {
    const Json* offsets = entry.is_object() ? json_member(entry, "data_offsets") : nullptr;
    if (offsets != nullptr && offsets->is_array() && offsets->size() == 2 &&
        (*offsets)[1].is_number_unsigned())
      end = std::max(end, (*offsets)[1].get<std::uint64_t>());
  }
  return end > kMost ? 0 : end;
}

// Ranges must cover the data from its first to its last byte.
Status check_coverage(std::vector<const WeightRef*> order, std::span<const std::byte> data,
                      const std::string& path) {
  std::sort(order.begin(), order.end(), [](const WeightRef* a, const WeightRef* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) <
           std::pair(b->bytes.data(), b->bytes.size());
  });
  std::size_t reached = 0;
  for (const WeightRef* weight : order) {
    const auto begin = static_cast<std::size_t>(weight->bytes.data() - data.data());
    if (begin != reached)
      return corrupt("[{}] the data of tensor {} begins at byte {}, expected {} ({})", path,
                     weight->name, begin, reached, begin < reached ? "overlap" : "hole");
    reached = begin + weight->bytes.size();
  }
  if (reached != data.size())
    return corrupt("[{}] expected {} bytes of data, got {}", path, reached, data.size());
  return {};
}

// Several files under one name index.
class ShardedSafetensors : public WeightMap {
 public:
  explicit ShardedSafetensors(std::string origin) : WeightMap(std::move(origin)) {}
  using WeightMap::add;
  void keep(std::shared_ptr<const SafetensorsFile> file) { files_.push_back(std::move(file)); }

 private:
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;
};

constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

// The name of each tensor with the name of the file that holds it.
Result<std::vector<std::pair<std::string, std::string>>> read_index(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string index_path, inner_file(folder, kIndexName));
  // A line for each tensor: of models with many experts that is more than a config has.
  ANEMONE_ASSIGN_OR_RETURN(const Json index,
                           read_json_file(index_path, {.max_file_bytes = kMaxHeaderBytes}));
  const Json* map = json_member(index, "weight_map");
  if (map == nullptr || !map->is_object())
    return parse_error("[{}] expected an object \"weight_map\"", index_path);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string())
      return parse_error("[{}] expected the file of {} to be a string", index_path, name);
    auto file_name = file.get<std::string>();
    if (file_name.empty() || file_name.find('/') != file_name.npos || file_name == "..")
      return corrupt("[{}] the file \"{}\" leaves the folder", index_path, file_name);
    out.emplace_back(name, std::move(file_name));
  }
  return out;
}

Result<std::shared_ptr<const WeightSource>> open_sharded(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto index, read_index(folder));
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files;
  auto out = std::make_shared<ShardedSafetensors>(folder);
  for (const auto& [name, file_name] : index) {
    auto& opened = files[file_name];
    if (opened == nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(const std::string path, inner_file(folder, file_name));
      ANEMONE_ASSIGN_OR_RETURN(opened, SafetensorsFile::open(path));
    }
    const WeightRef* weight = opened->find(name);
    if (weight == nullptr)
      return corrupt("[{}] {} does not hold the tensor {}", folder + "/" + kIndexName, file_name,
                     name);
    out->add(name, *weight);
  }
  for (auto& [name, file] : files) out->keep(std::move(file));
  return std::shared_ptr<const WeightSource>(std::move(out));
}

// The one file that holds all tensors; nullopt when there is an index of several.
Result<std::optional<std::string>> single_file(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> found;
  bool has_torch = false;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) found.push_back(name);
    if (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth")) has_torch = true;
  }
  if (error) return io_error("[{}] cannot list the folder: {}", folder, error.message());
  const bool has_single = fs::exists(folder + "/" + kSingleName, error);
  if (!has_single && fs::exists(folder + "/" + kIndexName, error))
    return std::optional<std::string>();
  if (!has_single && found.size() != 1)
    return not_found(
        "[{}] expected model.safetensors or model.safetensors.index.json, got {}", folder,
        has_torch       ? "torch .bin files: save the model as safetensors first"
        : found.empty() ? "no weights (compile --dry-run plans from a config.json alone)"
                        : fmt::format("{} other .safetensors files", found.size()));
  ANEMONE_ASSIGN_OR_RETURN(std::string path,
                           inner_file(folder, has_single ? kSingleName : found[0]));
  return std::optional(std::move(path));
}

}  // namespace

Result<std::shared_ptr<const SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
  auto self = std::make_shared<SafetensorsFile>(path);
  ANEMONE_ASSIGN_OR_RETURN(self->file_, MappedFile::open(path));
  ByteReader reader(self->file_->bytes(), path);
  ANEMONE_ASSIGN_OR_RETURN(const auto length, reader.read<std::uint64_t>());
  if (length > kMaxHeaderBytes)
    return corrupt("[{}] expected a safetensors header of at most {} bytes, got {}", path,
                   kMaxHeaderBytes, length);
  if (length > reader.remaining())
    return cut_short(path, self->file_->bytes().size(), reader.offset() + length);
  ANEMONE_ASSIGN_OR_RETURN(const std::string_view text, reader.take_text(length));
  Result<Json> parsed = parse_json(text, path, {.max_depth = 8, .max_memory = kMaxHeaderMemory});
  ANEMONE_RETURN_IF_ERROR(self->file_->check());
  ANEMONE_ASSIGN_OR_RETURN(const Json header, std::move(parsed));
  if (!header.is_object())
    return parse_error("[{}] expected a JSON object as header, got {}", path, header.type_name());
  const auto data = self->file_->bytes().subspan(reader.offset());
  if (const std::uint64_t end = end_of_data(header); end > data.size())
    return cut_short(path, self->file_->bytes().size(), reader.offset() + end);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        return parse_error("[{}] expected __metadata__ to be an object", path);
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          return parse_error("[{}] expected __metadata__ to hold strings", path);
        self->metadata_.emplace(key, value.get<std::string>());
      }
      continue;
    }
    auto weight = parse_entry(name, entry, data);
    if (!weight.ok()) {
      const Status status = weight.status();
      return Status(status.code(), fmt::format("[{}] tensor {}: {}", path, name, status.message()));
    }
    weight->file = self->file_.get();
    self->add(name, std::move(weight).value());
  }
  ANEMONE_RETURN_IF_ERROR(check_coverage(self->all(), data, path));
  return std::shared_ptr<const SafetensorsFile>(std::move(self));
}

Result<std::shared_ptr<const WeightSource>> open_safetensors_folder(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto single, single_file(folder));
  if (!single) return open_sharded(folder);
  ANEMONE_ASSIGN_OR_RETURN(auto file, SafetensorsFile::open(*single));
  return std::shared_ptr<const WeightSource>(std::move(file));
}

Result<std::vector<std::string>> safetensors_files(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const auto single, single_file(folder));
  if (single) return std::vector{*single};
  ANEMONE_ASSIGN_OR_RETURN(const auto index, read_index(folder));
  std::set<std::string> names = {kIndexName};
  for (const auto& [tensor, file] : index) names.insert(file);
  std::vector<std::string> files;
  for (const std::string& name : names) {
    ANEMONE_ASSIGN_OR_RETURN(std::string file, inner_file(folder, name));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::shared_ptr<const WeightSource>> open_safetensors(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_safetensors_folder(path);
  ANEMONE_ASSIGN_OR_RETURN(auto file, SafetensorsFile::open(path));
  return std::shared_ptr<const WeightSource>(std::move(file));
}

Result<SafetensorsWriter> SafetensorsWriter::create(
    const std::string& path, const std::vector<NamedType>& tensors,
    const std::map<std::string, std::string>& metadata) {
  // Members are appended to the text: a JSON object would search all its members for each.
  std::string text = "{";
  const auto add = [&text](const std::string& name, Json value) {
    Json member = Json::object();
    member[name] = std::move(value);
    const std::string whole = dump_json(member);
    text.append(text.size() > 1 ? "," : "").append(whole, 1, whole.size() - 2);
  };
  if (!metadata.empty()) {
    Json entries = Json::object();
    for (const auto& [key, value] : metadata) entries[key] = value;
    add("__metadata__", std::move(entries));
  }
  std::unordered_set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const NamedType& tensor : tensors) {
    const auto row = std::find_if(kDTypes.begin(), kDTypes.end(),
                                  [&](const DTypeRow& r) { return r.dtype == tensor.dtype; });
    if (row == kDTypes.end())
      return unsupported("[{}] safetensors cannot hold {} (tensor {})", path,
                         dtype_name(tensor.dtype), tensor.name);
    if (!names.insert(tensor.name).second)
      return invalid_argument("[{}] two tensors are named {}", path, tensor.name);
    const std::uint64_t end =
        offset + dtype_bytes(tensor.dtype, static_cast<std::uint64_t>(element_count(tensor.shape)));
    add(tensor.name,
        {{"dtype", row->name}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}});
    offset = end;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8,
              ' ');  // data begins 8-byte aligned, as the reference writer does
  const std::uint64_t length = text.size();
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  ANEMONE_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&length, 1))));
  ANEMONE_RETURN_IF_ERROR(file.append(text));
  const std::uint64_t size = file.size() + offset;
  return SafetensorsWriter(std::move(file), size);
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  return file_.append(bytes);
}

Status SafetensorsWriter::commit() {
  ANEMONE_CHECK(file_.size() == size_);
  return file_.commit();
}

AtomicFile SafetensorsWriter::finish() && {
  ANEMONE_CHECK(file_.size() == size_);
  return std::move(file_);
}

Result<AtomicFile> prepare_safetensors(const std::string& path,
                                       const std::vector<NamedView>& tensors,
                                       const std::map<std::string, std::string>& metadata) {
  std::vector<NamedType> types;
  for (const NamedView& named : tensors)
    types.push_back({std::string(named.name), named.tensor.dtype, named.tensor.shape});
  ANEMONE_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                           SafetensorsWriter::create(path, types, metadata));
  for (const NamedView& named : tensors)
    ANEMONE_RETURN_IF_ERROR(writer.append(named.tensor.bytes()));
  return std::move(writer).finish();
}

Status write_safetensors(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  ANEMONE_ASSIGN_OR_RETURN(AtomicFile file, prepare_safetensors(path, tensors, metadata));
  return file.commit();
}

}  // namespace anemone::checkpoint

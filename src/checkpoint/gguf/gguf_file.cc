// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/inner_file.h"
#include "base/progress.h"
#include "checkpoint/file_kind.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::uint64_t kMaxAlignment = 1 << 20;
constexpr std::int64_t kMaxParts = 1024;

struct Header {
  std::uint64_t tensors = 0;
  std::uint64_t values = 0;
};

Result<Header> read_header(ByteReader& reader, const std::string& path) {
  const auto magic = reader.take_text(kMagic.size());
  if (!magic.ok() || *magic != kMagic)
    return corrupt("[{}] expected a file that begins with GGUF, got {}", path,
                   name_file_kind(reader.bytes(), path));
  ANEMONE_ASSIGN_OR_RETURN(const auto version, reader.read<std::uint32_t>());
  if (version != 2 && version != 3)
    return version_mismatch(
        "[{}] expected GGUF of version 2 or 3, got {}", path,
        (version & 0xffffU) == 0 ? "a big-endian file" : fmt::format("{}", version));
  Header header;
  ANEMONE_ASSIGN_OR_RETURN(header.tensors, reader.read<std::uint64_t>());
  ANEMONE_ASSIGN_OR_RETURN(header.values, reader.read<std::uint64_t>());
  return header;
}

Result<std::uint64_t> read_alignment(const Metadata& metadata) {
  ANEMONE_ASSIGN_OR_RETURN(const auto given, metadata.integer("general.alignment"));
  const std::int64_t alignment = given.value_or(32);
  // Below eight, elements would not be where the machine can read them.
  if (alignment < 8 || alignment > static_cast<std::int64_t>(kMaxAlignment) ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    return corrupt("[{}] expected general.alignment to be a power of two from 8 to {}, got {}",
                   metadata.subject(), kMaxAlignment, alignment);
  return static_cast<std::uint64_t>(alignment);
}

// A tensor whose place is not checked yet.
struct Entry {
  TensorInfo info;
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

Result<Entry> read_entry(ByteReader& reader) {
  Entry entry;
  ANEMONE_ASSIGN_OR_RETURN(const std::string_view name, read_string(reader));
  if (name.empty() || name.size() > kMaxNameBytes)
    return corrupt("[{}] expected a tensor name of 1 to {} bytes, got {}", reader.subject(),
                   kMaxNameBytes, name.size());
  entry.info.name = name;
  ANEMONE_ASSIGN_OR_RETURN(const auto dimensions, reader.read<std::uint32_t>());
  if (dimensions > kMaxDimensions)
    return corrupt("[{}] expected tensor {} to have at most {} dimensions, got {}",
                   reader.subject(), name, kMaxDimensions, dimensions);
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const auto size, reader.read<std::uint64_t>());
    if (size > (std::uint64_t{1} << 62))
      return corrupt("[{}] expected a countable shape of tensor {}, got a dimension of {}",
                     reader.subject(), name, size);
    entry.info.shape.insert(entry.info.shape.begin(), static_cast<std::int64_t>(size));
  }
  ANEMONE_ASSIGN_OR_RETURN(entry.type, reader.read<std::uint32_t>());
  ANEMONE_ASSIGN_OR_RETURN(entry.offset, reader.read<std::uint64_t>());
  return entry;
}

// Everything that stands before the data of the tensors.
struct Head {
  Metadata metadata;
  std::uint64_t alignment = 0;
  std::vector<Entry> entries;
};

Result<Head> read_head(ByteReader& reader, std::size_t part, const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const Header header, read_header(reader, path));
  Head head;
  ANEMONE_ASSIGN_OR_RETURN(head.metadata, Metadata::read(reader, header.values, path));
  ANEMONE_ASSIGN_OR_RETURN(head.alignment, read_alignment(head.metadata));
  ANEMONE_ASSIGN_OR_RETURN(const auto number, head.metadata.integer("split.no"));
  if (number.value_or(static_cast<std::int64_t>(part)) != static_cast<std::int64_t>(part))
    return corrupt("[{}] expected split.no to be {}, got {}", path, part, *number);
  // An entry takes at least a length, a byte, dimensions, a type and an offset.
  constexpr std::uint64_t kLeastEntry = 25;
  if (header.tensors > reader.remaining() / kLeastEntry) {
    reader.mark_ran_out();
    return corrupt("[{}] expected at most {} tensors in the file, got {}", path,
                   reader.remaining() / kLeastEntry, header.tensors);
  }
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(Entry entry, read_entry(reader));
    head.entries.push_back(std::move(entry));
  }
  return head;
}

// `space`: bytes up to the next tensor or the end. Tells types of one number apart.
Status find_type(Entry& entry, std::uint64_t space, std::uint64_t alignment,
                 const std::string& path) {
  TensorInfo& info = entry.info;
  const auto types = find_block_types(entry.type);
  if (const auto name = name_of_activation_type(entry.type))
    return unsupported(
        "[{}] expected tensor {} in a type of weights, got {}, which ggml computes with "
        "and gguf-py does not read either: quantize it as Q8_0",
        path, info.name, *name);
  if (types.empty())
    return unsupported("[{}] expected tensor {} to have a type that is known here, got number {}",
                       path, info.name, entry.type);
  info.type = types.front();
  if (types.size() == 1) return {};
  const auto count = checked_element_count(info.shape);
  if (!count.ok()) return corrupt("[{}] tensor {}: {}", path, info.name, count.status().message());
  for (const BlockType* type : types) {
    const auto blocks = static_cast<std::uint64_t>(*count) / type->values;
    if (static_cast<std::uint64_t>(*count) % type->values != 0 || blocks > space / type->bytes)
      continue;
    if (space - blocks * type->bytes < alignment) {
      info.type = type;
      return {};
    }
  }
  return unsupported(
      "[{}] expected tensor {} of type {} to fill the {} bytes up to the next one "
      "as {} or as {}",
      path, info.name, entry.type, space, types.front()->name, types.back()->name);
}

Status find_types(std::vector<Entry>& entries, std::uint64_t end, std::uint64_t alignment,
                  const std::string& path) {
  std::vector<std::uint64_t> offsets = {end};
  for (const Entry& entry : entries) offsets.push_back(entry.offset);
  std::ranges::sort(offsets);
  for (Entry& entry : entries) {
    const auto next = std::ranges::upper_bound(offsets, entry.offset);
    const std::uint64_t space = next == offsets.end() ? 0 : *next - entry.offset;
    ANEMONE_RETURN_IF_ERROR(find_type(entry, space, alignment, path));
  }
  return {};
}

// Gives the entry its bytes.
Status place(Entry& entry, std::span<const std::byte> data, std::uint64_t alignment,
             const std::string& path) {
  TensorInfo& info = entry.info;
  const auto count = checked_element_count(info.shape);
  if (!count.ok()) return corrupt("[{}] tensor {}: {}", path, info.name, count.status().message());
  const std::int64_t columns = info.shape.empty() ? 1 : info.shape.back();
  const BlockType& type = *info.type;
  if (columns % type.values != 0)
    return corrupt("[{}] expected tensor {} to have rows of a multiple of {} values ({}), got {}",
                   path, info.name, type.values, type.name, columns);
  // Compared in blocks first: the product in bytes may be too large for 64 bits.
  const auto blocks = static_cast<std::uint64_t>(*count) / type.values;
  if (entry.offset > data.size() || blocks > (data.size() - entry.offset) / type.bytes)
    return corrupt(
        "[{}] expected tensor {} to be {} blocks of {} bytes at offset {}, got {} bytes of data",
        path, info.name, blocks, type.bytes, entry.offset, data.size());
  if (entry.offset % alignment != 0)
    return corrupt("[{}] expected tensor {} at an offset that is a multiple of {}, got {}", path,
                   info.name, alignment, entry.offset);
  info.bytes = data.subspan(static_cast<std::size_t>(entry.offset),
                            static_cast<std::size_t>(blocks * type.bytes));
  return {};
}

// Where the data of the last tensor ends, from the beginning of the data. Tensors of which that
// cannot be told yet, or of which it is more than any disk has, do not count.
std::uint64_t end_of_data(const std::vector<Entry>& entries) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    const auto types = find_block_types(entry.type);
    const auto count = checked_element_count(entry.info.shape);
    if (types.size() != 1 || !count.ok() || entry.offset > kMost) continue;
    const auto blocks = static_cast<std::uint64_t>(*count) / types.front()->values;
    if (blocks > kMost / types.front()->bytes) continue;
    end = std::max(end, entry.offset + blocks * types.front()->bytes);
  }
  return end > kMost ? 0 : end;
}

Status check_overlap(std::vector<const TensorInfo*> order, const std::string& path) {
  std::ranges::sort(order, [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) <
           std::pair(b->bytes.data(), b->bytes.size());
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->bytes.data() + order[i - 1]->bytes.size() > order[i]->bytes.data())
      return corrupt("[{}] expected tensors side by side, got {} and {} in the same bytes", path,
                     order[i - 1]->name, order[i]->name);
  return {};
}

// "NAME-00002-of-00003.gguf" by its parts.
struct PartName {
  std::string prefix;
  std::int64_t count = 0;
  std::string of(std::int64_t part) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part, count);
  }
};

std::optional<std::int64_t> five_digits(std::string_view text) {
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<PartName> parse_part_name(const std::string& path) {
  constexpr std::size_t kTail = std::string_view("-00001-of-00001.gguf").size();
  if (path.size() <= kTail) return std::nullopt;
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  const auto number = five_digits(tail.substr(1, 5));
  const auto count = five_digits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf" || !number ||
      !count)
    return std::nullopt;
  return PartName{path.substr(0, path.size() - kTail), *count};
}

}  // namespace

bool GgufFile::is_gguf(const std::string& path) {
  // A pipe would block, and a device never end.
  const auto file = MappedFile::open(path);
  if (!file.ok() || (*file)->bytes().size() < kMagic.size()) return false;
  return std::memcmp((*file)->bytes().data(), kMagic.data(), kMagic.size()) == 0;
}

Status GgufFile::read_part(const std::string& path, std::size_t part) {
  ANEMONE_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ByteReader reader(file->bytes(), path);
  auto read = read_head(reader, part, path);
  if (!read.ok() && reader.ran_out())
    return corrupt(
        "[{}] ends within its header, at {}: it was cut short or is damaged: download it again "
        "(anemone pull resumes)",
        path, format_bytes(file->bytes().size()));
  ANEMONE_ASSIGN_OR_RETURN(Head head, std::move(read));
  const std::uint64_t alignment = head.alignment;
  std::vector<Entry>& entries = head.entries;
  const std::uint64_t data_begin = (reader.offset() + alignment - 1) / alignment * alignment;
  // A file without tensors may end before the padding.
  const auto data = file->bytes().subspan(
      static_cast<std::size_t>(std::min<std::uint64_t>(data_begin, file->bytes().size())));
  if (const std::uint64_t end = end_of_data(entries); end > data.size())
    return cut_short(path, file->bytes().size(), data_begin + end);
  ANEMONE_RETURN_IF_ERROR(find_types(entries, data.size(), alignment, path));
  std::vector<const TensorInfo*> placed;
  for (Entry& entry : entries) {
    ANEMONE_RETURN_IF_ERROR(place(entry, data, alignment, path));
    entry.info.file = file.get();
    const auto [it, is_new] = tensors_.emplace(entry.info.name, std::move(entry.info));
    if (!is_new) return corrupt("[{}] expected each tensor once, got {} twice", path, it->first);
    placed.push_back(&it->second);
  }
  ANEMONE_RETURN_IF_ERROR(check_overlap(std::move(placed), path));
  if (part == 0) metadata_ = std::move(head.metadata);
  files_.push_back(std::move(file));
  return {};
}

Status GgufFile::read_parts(const std::string& path) {
  const auto name = parse_part_name(path);
  // The file that was named may lie anywhere; the other parts lie beside it.
  const auto part_path = [&](std::int64_t part) -> Result<std::string> {
    const std::filesystem::path beside = name->of(part);
    if (beside == path) return path;
    return inner_file(beside.parent_path().string(), beside.filename().string());
  };
  std::string first = path;
  if (name) {
    ANEMONE_ASSIGN_OR_RETURN(first, part_path(1));
  }
  ANEMONE_RETURN_IF_ERROR(read_part(first, 0));
  ANEMONE_ASSIGN_OR_RETURN(const auto parts, metadata_.integer("split.count"));
  const std::int64_t count = parts.value_or(1);
  if (count < 0 || count > kMaxParts)
    return corrupt("[{}] expected split.count of at most {}, got {}", first, kMaxParts, count);
  if (count <= 1) return {};
  if (!name || name->count != count)
    return corrupt("[{}] expected a file named NAME-00001-of-{:05}.gguf, of which it is a part",
                   path, count);
  for (std::int64_t part = 1; part < count; ++part) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string next, part_path(part + 1));
    ANEMONE_RETURN_IF_ERROR(read_part(next, static_cast<std::size_t>(part)));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto total, metadata_.integer("split.tensors.count"));
  if (total && *total != static_cast<std::int64_t>(tensors_.size()))
    return corrupt("[{}] expected {} tensors in all parts, got {}", first, *total, tensors_.size());
  return {};
}

Result<std::shared_ptr<const GgufFile>> GgufFile::open(const std::string& path) {
  auto self = std::make_shared<GgufFile>();
  self->path_ = path;
  const Status read = self->read_parts(path);
  ANEMONE_RETURN_IF_ERROR(check_mapped_files());
  ANEMONE_RETURN_IF_ERROR(read);
  return std::shared_ptr<const GgufFile>(std::move(self));
}

const TensorInfo* GgufFile::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

Status GgufFile::check_has_weights() const {
  if (!tensors_.empty()) return {};
  if (metadata_.find("tokenizer.ggml.tokens") == nullptr)
    return not_found("[{}] expected weights, got metadata alone", path_);
  return not_found("[{}] expected weights, got a vocabulary alone, which anemone tokenize takes",
                   path_);
}

std::vector<std::string> GgufFile::files() const {
  std::vector<std::string> out;
  for (const auto& file : files_) out.push_back(file->path());
  return out;
}

}  // namespace anemone::checkpoint::gguf

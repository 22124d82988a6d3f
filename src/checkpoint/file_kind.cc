// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file_kind.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"

namespace anemone::checkpoint {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::size_t offset;
  std::string_view kind;
};

// The numbers that file(1) knows these formats by.
constexpr Magic kMagics[] = {
    {"GGUF"sv, 0, "a GGUF file"},
    {"\x1f\x8b"sv, 0, "a gzip file: unpack it first"},
    {"PK\x03\x04"sv, 0,
     "a zip file, as torch writes its checkpoints: save the model as safetensors, or unpack it"},
    {"\x80\x02"sv, 0, "a pickle file of torch: save the model as safetensors"},
    {"BZh"sv, 0, "a bzip2 file: unpack it first"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "an xz file: unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, 0, "a zstd file: unpack it first"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "a 7z file: unpack it first"},
    {"ustar"sv, 257, "a tar file: unpack it first"},
    {"\x89HDF\r\n"sv, 0, "an HDF5 file, as Keras writes them: save the model as safetensors"},
    // GGML files from before GGUF, in their versions.
    {"lmgg"sv, 0, "a GGML file from before GGUF: convert it with llama.cpp"},
    {"fmgg"sv, 0, "a GGML file from before GGUF: convert it with llama.cpp"},
    {"tjgg"sv, 0, "a GGML file from before GGUF: convert it with llama.cpp"},
};

bool is_text(std::string_view bytes) {
  return !bytes.empty() && std::ranges::none_of(bytes, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f;
  });
}

}  // namespace

bool is_safetensors(std::span<const std::byte> head) {
  // No header is so long that the upper bytes of its length are needed.
  return head.size() > 8 && head[6] == std::byte{0} && head[7] == std::byte{0} &&
         head[8] == std::byte{'{'};
}

std::string name_file_kind(std::span<const std::byte> head, std::string_view name) {
  const std::string_view bytes(reinterpret_cast<const char*>(head.data()),
                               std::min(head.size(), kFileKindBytes));
  if (bytes.empty()) return "an empty file: download it again";
  for (const Magic& magic : kMagics)
    if (bytes.size() > magic.offset && bytes.substr(magic.offset).starts_with(magic.bytes))
      return std::string(magic.kind);
  if (is_safetensors(head))
    return "a safetensors file: name the folder with it and its config.json";
  const std::string lower = ascii_lower(name);
  if (lower.ends_with(".onnx"))
    return "an ONNX file: name the folder with it and its genai_config.json";
  if (!is_text(bytes)) return "a file of an unknown form";
  const std::size_t begin = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
  const std::string start = ascii_lower(bytes.substr(begin, 64));
  if (start.starts_with("<!doctype html") || start.starts_with("<html"))
    return "an HTML page: download the file itself (anemone pull does)";
  if (lower.ends_with(".json") || start.starts_with('{'))
    return "a JSON file: name the folder that it is in";
  return "a text file";
}

Status not_a_model(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  const auto head = file->bytes().first(std::min(file->bytes().size(), kFileKindBytes));
  return unsupported("[{}] expected a compiled model, a checkpoint folder or a GGUF file, got {}",
                     path, name_file_kind(head, path));
}

Status cut_short(const std::string& path, std::uint64_t bytes, std::uint64_t whole) {
  return corrupt("[{}] has {} of {}: it was cut short: download it again (anemone pull resumes)",
                 path, format_bytes(bytes), format_bytes(whole));
}

}  // namespace anemone::checkpoint

// SPDX-License-Identifier: Apache-2.0
// The safetensors format:
//
//   offset 0   u64 little-endian   length N of the header
//   offset 8   N bytes             JSON: {"name": {"dtype", "shape", "data_offsets": [begin, end]},
//                                  ..., "__metadata__": {string: string}}
//   8 + N      data                offsets count from here; ranges cover it without hole or overlap
//
// Reading is lazy: the file is mapped and only the header is read. Every rule of the reference
// reader is checked (header <= 100 MB, ordered ranges, no overlap, no hole, shape x size = range).
#pragma once

#include <anemone/status.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// One .safetensors file.
class SafetensorsFile : public WeightMap {
 public:
  static Result<std::shared_ptr<const SafetensorsFile>> open(const std::string& path);

  explicit SafetensorsFile(std::string path) : WeightMap(std::move(path)) {}
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::string> metadata_;
};

// A checkpoint folder: model.safetensors, or the shards that model.safetensors.index.json names, or
// the only *.safetensors file there. kNotFound with a hint when the folder holds none (torch .bin
// files are named in the hint).
Result<std::shared_ptr<const WeightSource>> open_safetensors_folder(const std::string& folder);

// The files that open_safetensors_folder() reads, with the folder before their names.
Result<std::vector<std::string>> safetensors_files(const std::string& folder);
// Opens `path`, a file or a checkpoint folder.
Result<std::shared_ptr<const WeightSource>> open_safetensors(const std::string& path);

struct NamedType {
  std::string name;
  DType dtype = DType::kFp32;
  Shape shape;
};

// Writes a file of tensors that are made one after the other. The file appears under its name with
// commit(). Single-thread.
class SafetensorsWriter {
 public:
  // kUnsupported for a dtype that the format does not have, kInvalidArgument for a name that occurs
  // twice.
  static Result<SafetensorsWriter> create(const std::string& path,
                                          const std::vector<NamedType>& tensors,
                                          const std::map<std::string, std::string>& metadata = {});
  // The bytes of the tensors in their order, in pieces of any size.
  Status append(std::span<const std::byte> bytes);
  // Both require that all bytes were appended. With finish() the caller commits the file.
  Status commit();
  AtomicFile finish() &&;

 private:
  SafetensorsWriter(AtomicFile file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  AtomicFile file_;
  std::uint64_t size_;  // of the complete file
};

// Writes tensors in the given order, atomically. Names must be unique; dtypes as safetensors has
// them (kUnsupported for strings and sub-byte types).
Status write_safetensors(const std::string& path, const std::vector<NamedView>& tensors,
                         const std::map<std::string, std::string>& metadata = {});
// The same file, written and not committed yet.
Result<AtomicFile> prepare_safetensors(const std::string& path,
                                       const std::vector<NamedView>& tensors,
                                       const std::map<std::string, std::string>& metadata = {});

}  // namespace anemone::checkpoint

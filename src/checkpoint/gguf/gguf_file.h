// SPDX-License-Identifier: Apache-2.0
// The GGUF format, versions 2 and 3, little-endian:
//
//   "GGUF", u32 version, u64 tensors, u64 metadata values
//   metadata   string key, u32 type, value (arrays: u32 type, u64 count, items)
//   tensors    string name, u32 dimensions, u64 each (innermost first), u32 type, u64 offset
//   data       at the next multiple of general.alignment (32); offsets count from here and are
//              multiples of it, too
//
// A model may be split: NAME-00001-of-0000N.gguf and so on, each a GGUF file with its tensors; the
// first has the metadata. Reading is lazy: files are mapped, and only headers are read.
#pragma once

#include <anemone/status.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/gguf/block_type.h"
#include "checkpoint/gguf/gguf_value.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint::gguf {

// A tensor as the file has it.
struct TensorInfo {
  std::string name;
  const BlockType* type = nullptr;
  Shape shape;  // outermost first, as everywhere here
  std::span<const std::byte> bytes;
  const MappedFile* file = nullptr;
};

// A GGUF model of one or several files. Immutable, thread-safe.
class GgufFile {
 public:
  // `path` is the only file or any part. Every count and offset is checked before it is believed.
  // kVersionMismatch for other versions, kUnsupported for tensor types that are not known, kIo for
  // a part that is not there, kCorrupt for the rest.
  static Result<std::shared_ptr<const GgufFile>> open(const std::string& path);
  // Whether the file begins as GGUF does; false when it cannot be read.
  static bool is_gguf(const std::string& path);

  const std::string& path() const { return path_; }
  // The metadata of the first part of the model.
  const Metadata& metadata() const { return metadata_; }
  const std::map<std::string, TensorInfo, std::less<>>& tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;
  // kNotFound for a file of metadata alone, such as a vocabulary of llama.cpp's tests.
  Status check_has_weights() const;
  // Paths of all parts in their order.
  std::vector<std::string> files() const;

 private:
  Status read_part(const std::string& path, std::size_t part);
  Status read_parts(const std::string& path);

  std::string path_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  Metadata metadata_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
};

}  // namespace anemone::checkpoint::gguf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/thread_pool.h"
#include "ir/op_schema.h"
#include "mlpackage/model.h"

namespace anemone::mlpackage {

// The key of the metadata that has the version of anemone which wrote a package.
inline constexpr char kVersionKey[] = "com.github.anemone.version";

struct WriteOptions {
  // Knows the operations: types are inferred again, and every defaulted parameter must be spelled
  // out. nullptr: only the structure of the program is checked.
  const ir::OpRegistry* registry = nullptr;
  // Loads and writes constants; nullptr: the calling thread alone. The bytes are the same either
  // way.
  ThreadPool* pool = nullptr;
  // Constants that are being loaded and written at one time take at most this much memory, or one
  // constant where that alone is more.
  std::uint64_t max_bytes_in_flight = 1ULL << 30;
  // Called with the bytes of constants that are written, after each; one call at a time, any
  // thread.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
  // When it becomes true, writing ends with kCancelled. May be null; must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
  // Adds metadata under kVersionKey, and a buildInfo to a program that has none.
  bool stamp = true;
};

struct WriteReport {
  int specification_version = 0;
  std::uint64_t model_bytes = 0;
  std::uint64_t weight_bytes = 0;  // size of the weight file; 0 without one
  std::uint64_t blob_count = 0;
};

// Writes the package X.mlpackage: a temporary folder beside it ("X.mlpackage.tmp.<random>") is
// renamed when all is written, and after an error nothing is left. What is there under that name is
// never replaced, but for an empty folder. Equal models give equal bytes.
//
// Constants of 10 or more numbers go to weights/weight.bin, once for each ir::Data object however
// many functions share it; each thread loads one at a time, after their places are known, and drops
// it when it is written.
//
// Refuses what Core ML's loaders would not notice (kCorrupt): description against program, output
// names, parameters left to their defaults, names that MIL text cannot hold, features that the
// specification version does not have. kInvalidArgument when `path` does not end in ".mlpackage" or
// names something that is there; kIo when the disk is full.
Result<WriteReport> write_package(const Model& model, const std::string& path,
                                  const WriteOptions& options = {});

// Where write_package puts the bytes of a constant.
struct ConstantPlace {
  std::string file;          // in the package, with '/'
  std::uint64_t offset = 0;  // of the first byte
};
// nullopt when it lies in the model file.
Result<std::optional<ConstantPlace>> place_of_constant(const Model& model,
                                                       const ir::Literal& literal);

}  // namespace anemone::mlpackage

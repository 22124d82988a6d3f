// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "mlpackage/manifest.h"

namespace anemone::mlpackage {

// The largest program that is written or read. Programs take a few MB; decoding one takes several
// times its size in memory.
inline constexpr std::uint64_t kMaxModelBytes = 256ULL << 20;

// Where the parts of a package lie on disk. Nothing outside the package's folder is ever named:
// paths of the manifest and of blob references are plain relative paths, and symbolic links may not
// lead out.
class PackageFiles {
 public:
  // `path` is a folder X.mlpackage or a bare model file. kIo when it is not there, kCorrupt when it
  // is no package or its manifest names files that are missing or lie outside.
  static Result<PackageFiles> locate(const std::string& path);

  const std::string& model_path() const { return model_path_; }
  // The file behind a blob reference, "@model_path/weights/weight.bin". The folder is found through
  // the manifest: writers use different authors, and so different folders.
  Result<std::string> weight_path(std::string_view reference) const;

 private:
  // `relative` below `folder_`; must exist and lie inside.
  Result<std::string> inside(const std::string& relative) const;

  std::string subject_;  // as the caller gave it
  std::string folder_;
  std::string model_path_;
  bool is_package_ = false;
  Manifest manifest_;
};

}  // namespace anemone::mlpackage

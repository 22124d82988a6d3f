// SPDX-License-Identifier: Apache-2.0
// The driver: a checkpoint and options in, an artifact folder out.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ane/check.h"
#include "artifact/manifest.h"
#include "base/file_identity.h"
#include "compiler/options.h"
#include "compiler/weight_store.h"

namespace anemone::compiler {

struct PackageReport {
  std::string name;
  std::string content;  // "layers 0-11", "vocabulary 0-50015"
  std::uint64_t bytes = 0;
  double seconds = 0;
  bool is_reused = false;  // from an earlier run
};

// What the form of the experts costs a step of one token on the chip.
struct ExpertsReport {
  artifact::ExpertsForm form = artifact::ExpertsForm::kDense;
  std::int64_t layers = 0;  // that have experts
  std::int64_t count = 0;   // in each
  std::int64_t active = 0;
  std::size_t packages = 0;           // with experts in them
  std::int64_t functions = 0;         // of experts alone; dense: 0
  std::uint64_t bytes_per_token = 0;  // weights of experts; dense: of all of them
  std::int64_t runs = 0;              // of experts' functions, a layer
  std::int64_t host_crossings = 0;    // a layer: to the experts and back
};

struct CompileReport {
  artifact::Manifest manifest;
  std::vector<PackageReport> packages;
  std::vector<WeightReport> weights;
  std::vector<FileIdentity> sources;     // the files that were read; empty of a dry run
  std::optional<ExpertsReport> experts;  // none: no layer has experts
  std::uint64_t source_bytes = 0;        // of the tensors that were used
  std::uint64_t total_bytes = 0;         // of the artifact, which is mapped when it runs
  std::uint64_t cache_bytes = 0;         // of the caches of one session
  double seconds = 0;
  double embedding_seconds = 0;
  bool is_dry_run = false;                   // bytes are planned ones
  std::vector<ane::CheckedPackage> checked;  // with CompileOptions::check, in the order of packages
  std::vector<std::string> notes;            // what was clamped or chosen, one line each
};

// Called from any thread, one call at a time: bytes written so far, bytes in all, what is being
// written.
using CompileProgress =
    std::function<void(std::uint64_t done, std::uint64_t total, const std::string& what)>;

// Compiles the checkpoint folder `model` into `output`. The artifact appears as a whole or not at
// all: it is written beside `output` and renamed. An existing artifact there is replaced; any other
// non-empty folder is refused. With `resume` an unfinished run leaves its finished packages beside
// `output`, for the next one. `dry_run` only plans, for which a config.json without weights is
// enough. Memory is bounded by a few tensors. The same input and options give the same bytes.
Result<CompileReport> compile(const std::string& model, const std::string& output,
                              const CompileOptions& options,
                              const CompileProgress& progress = nullptr);

}  // namespace anemone::compiler

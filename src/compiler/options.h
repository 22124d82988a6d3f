// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "ane/package_plan.h"
#include "artifact/manifest.h"
#include "compiler/recipe.h"
#include "ir/opset.h"
#include "tensor/dtype.h"

namespace anemone::compiler {

inline constexpr std::int64_t kDefaultContext = 2048;
inline constexpr std::int64_t kDefaultTextLength = 512;  // of a model that classifies
inline constexpr std::int64_t kDefaultPrefill = 64;
inline constexpr std::int64_t kDeltaNetPrefill = 16;

// The form that is compiled when none is named. Products stay whole for the CPU, which streams
// weights of any size alike and pays for each product.
artifact::Form default_form(Processor processor);

// What the user may choose. The command chooses the form and the recipe by the processor that it
// compiles for (ane/form.h, recipe.h).
struct CompileOptions {
  // The name of the model in the manifest; empty: the last name of the path of the checkpoint.
  std::string name = {};
  // The oldest system that loads the packages: iOS 16 to 18 or macOS of the same year. Before iOS
  // 18 a package holds one function, no states and one scale or palette per matrix or, for scales,
  // per output channel.
  ir::Opset target = ir::Opset::kIOS18;
  DType precision = DType::kFp16;  // fp16, or fp32 (caches become inputs and outputs)
  Recipe recipe = {};
  // S: tokens that fit into the caches; 0 takes kDefaultContext. Clamped to the model's maximum.
  std::int64_t context = 0;
  // Smaller contexts with functions of their own, over the first positions of the same caches: a
  // step costs less while the text is short.
  std::vector<std::int64_t> tiers = {};
  // T of the prefill function. Clamped to the context; at 1 there is only `decode`; 0 takes
  // kDefaultPrefill, or kDeltaNetPrefill for bounded packages with gated delta nets.
  std::int64_t prefill = kDefaultPrefill;
  // T of the verify function, which takes a few drafted tokens, or the rest of a prompt, at once.
  // 0: there is none. Needs 1 < draft_width < prefill.
  std::int64_t draft_width = 0;
  // One function that takes 1 to `prefill` tokens (a RangeDim) in place of one per width.
  bool range_dim = false;
  artifact::Form form = {};
  ane::PackagePlan packages = {};
  int threads = 0;  // 0: default_thread_count()
  // Takes over the finished packages of an earlier run that was interrupted, with the same
  // checkpoint and options; and keeps those of this run if it is interrupted.
  bool resume = false;
  // Measures the error of every quantized matrix for the report.
  bool measure_errors = false;
  // Only plans and builds the graphs, which finds missing tensors and options that do not fit. It
  // reads no weights and writes nothing.
  bool dry_run = false;
  // A dry run builds all functions of all packages, and checks them against the laws of the chip.
  bool check = false;
  // When it becomes true, compile() ends with kCancelled and leaves nothing. May be null; must
  // outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};
// Everything that the bytes of the artifact depend on, besides the checkpoint, as text. A new
// option that changes bytes belongs in here.
std::string describe_options(const CompileOptions& options);

}  // namespace anemone::compiler

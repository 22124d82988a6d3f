// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/progress.h"
#include "compiler/compiler.h"

namespace anemone::cli {

// compiler::compile with a progress bar, which is gone when it returns.
inline Result<compiler::CompileReport> compile_with_bar(const std::string& model,
                                                        const std::string& output,
                                                        const compiler::CompileOptions& options) {
  std::optional<Progress> bar;
  std::uint64_t shown = 0;
  return compiler::compile(model, output, options,
                           [&](std::uint64_t done, std::uint64_t total, const std::string& what) {
                             if (!bar) bar.emplace("compiling", total, Progress::Unit::kBytes);
                             bar->note(what);
                             bar->add(done - shown);
                             shown = done;
                           });
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/escape.h"
#include "cli/command.h"
#include "cli/model_cache.h"

namespace anemone::cli {

api::ExecutorOptions Context::executor() const {
  api::ExecutorOptions out{.threads = threads, .isa = isa, .maps_weights = maps_weights};
  out.kind = executor_kind;
  if (out.kind != "coreml") return out;
  // Without a folder the executor says what is missing.
  if (auto cache = make_cache_folder(); cache.ok()) out.coreml_cache = *cache + "/coreml";
  out.on_note = [](std::string_view note) { fmt::print(stderr, "note: {}\n", escaped(note)); };
  return out;
}

}  // namespace anemone::cli

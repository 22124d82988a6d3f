// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/escape.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/model_cache.h"
#include "cli/output.h"
#include "cli/private_folder.h"

namespace anemone::cli {

api::ExecutorOptions Context::executor() const {
  api::ExecutorOptions out{
      .threads = threads, .isa = isa, .maps_weights = maps_weights, .delta_net = delta_net};
  out.kind = executor_kind;
  out.coreml_cache = []() -> Result<std::string> {
    ANEMONE_RETURN_IF_ERROR(make_cache_folder().status());
    ANEMONE_ASSIGN_OR_RETURN(const std::string folder, coreml_cache_folder());
    ANEMONE_RETURN_IF_ERROR(make_private_folder(folder));
    return folder;
  };
  out.cancel = &interrupt_flag();
  out.on_note = [](std::string_view note) { print_err("note: {}\n", escaped(note)); };
  return out;
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include "compiler/source_files.h"

#include "base/error.h"
#include "checkpoint/content.h"

namespace anemone::compiler {

Result<SourceFiles> SourceFiles::of(const std::string& model) {
  SourceFiles out;
  ANEMONE_ASSIGN_OR_RETURN(out.paths_, checkpoint::files_of(model));
  ANEMONE_ASSIGN_OR_RETURN(out.files_, FileIdentity::of_all(out.paths_));
  // So that whatever is written to them from here on shows.
  wait_until_settled(out.files_);
  ANEMONE_RETURN_IF_ERROR(out.check_unchanged());
  return out;
}

Status SourceFiles::check_unchanged() const {
  ANEMONE_ASSIGN_OR_RETURN(const auto now, FileIdentity::of_all(paths_));
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].text() != files_[i].text())
      return io_error("[{}] expected a file that nobody writes to, got one that changed",
                      now[i].path);
  return {};
}

}  // namespace anemone::compiler

// SPDX-License-Identifier: Apache-2.0
#include "compiler/source_files.h"

#include "base/error.h"
#include "checkpoint/content.h"

namespace anemone::compiler {

Result<SourceFiles> SourceFiles::of(const std::string& model) {
  SourceFiles out(model);
  ANEMONE_ASSIGN_OR_RETURN(out.files_, list(model));
  // Waits so that any later write to the files shows in their times.
  wait_until_settled(out.files_);
  ANEMONE_RETURN_IF_ERROR(out.check_unchanged());
  return out;
}

Result<std::vector<FileIdentity>> SourceFiles::list(const std::string& model) {
  ANEMONE_ASSIGN_OR_RETURN(const auto paths, checkpoint::files_of(model));
  return FileIdentity::of_all(paths);
}

Status SourceFiles::check_unchanged() const {
  ANEMONE_ASSIGN_OR_RETURN(const auto now, list(model_));
  if (text_of(now) == text()) return opened_->check(files_);
  for (std::size_t i = 0; i < now.size(); ++i)
    if (i >= files_.size() || text_of({&now[i], 1}) != text_of({&files_[i], 1}))
      return io_error("[{}] the checkpoint changed while it was being read", now[i].path);
  return io_error("[{}] a file of the checkpoint was removed while it was being read", model_);
}

}  // namespace anemone::compiler

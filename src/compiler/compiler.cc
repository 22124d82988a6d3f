// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler.h"

#include <chrono>

#include "base/error.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "compiler/compilation.h"
#include "compiler/compile_plan.h"
#include "compiler/description.h"
#include "compiler/journal.h"
#include "compiler/output_folder.h"
#include "compiler/source_files.h"

namespace anemone::compiler {
namespace {

// Room for programs, manifests and the tokenizer beside the weights.
constexpr std::uint64_t kDiskSlackBytes = 64'000'000;

using Clock = std::chrono::steady_clock;

}  // namespace

Result<CompileReport> compile(const std::string& model, const std::string& output,
                              const CompileOptions& options, const CompileProgress& progress) {
  const auto start = Clock::now();
  if (options.dry_run) {
    ANEMONE_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::open_for_planning(model));
    ANEMONE_ASSIGN_OR_RETURN(CompilePlan plan, make_compile_plan(checkpoint, options));
    Result<CompileReport> planned = run_plan(checkpoint, std::move(plan), "", nullptr, progress);
    ANEMONE_RETURN_IF_ERROR(check_mapped_files());
    return planned;
  }
  // The files are noted before anything is read. If that fails, opening the checkpoint gives the
  // better error.
  const auto source = SourceFiles::of(model);
  ANEMONE_ASSIGN_OR_RETURN(const auto checkpoint, checkpoint::open_checkpoint(model));
  if (!source.ok()) return source.status();
  ANEMONE_ASSIGN_OR_RETURN(CompilePlan plan, make_compile_plan(checkpoint, options));
  const std::string content = fingerprint(checkpoint, plan, *source);
  ANEMONE_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::create(output, options.resume));
  ANEMONE_ASSIGN_OR_RETURN(Journal journal,
                           Journal::open(folder.working_path(), content, options.resume));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t available, free_disk_bytes(folder.working_path()));
  const std::uint64_t needed =
      plan.total_bytes() - std::min(plan.total_bytes(), journal.total_bytes()) + kDiskSlackBytes;
  if (needed > available)
    return io_error("[{}] cannot write: no space left on device (needs {}, {} free)", output,
                    format_bytes(needed), format_bytes(available));
  Result<CompileReport> made =
      run_plan(checkpoint, std::move(plan), folder.contents_path(), &journal, progress);
  // A file that was cut short reads as zeros, so this check comes before errors that the compiler
  // finds in zeros.
  ANEMONE_RETURN_IF_ERROR(check_mapped_files());
  ANEMONE_ASSIGN_OR_RETURN(CompileReport report, std::move(made));
  ANEMONE_RETURN_IF_ERROR(source->check_unchanged());
  report.sources = source->files();
  ANEMONE_RETURN_IF_ERROR(folder.commit());
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace anemone::compiler

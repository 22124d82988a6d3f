// SPDX-License-Identifier: Apache-2.0
// Compiled models (.mlmodelc) that stay on the disk: compiling takes up to hours, and Core ML puts
// the result into a temporary place.
//
// On the disk:
//   FOLDER/hashes/                        what base/file_hashes.h remembers
//   FOLDER/MACHINE_BUILD/KEY/             an entry: model.mlmodelc, `source` with the path of the
//                                         package, for people, and `complete`, written last;
//                                         locked by whoever uses it, shared
//   FOLDER/MACHINE_BUILD/KEY.N.scratch/   one in the making, or what a kill left of it
//   FOLDER/MACHINE_BUILD/KEY.lock/        locked by whoever makes the entry
// KEY hashes the content of the package. An entry appears by one rename, so a kill
// at any point leaves the old entry, the new one or none. A new build of the system has a folder of
// its own, and those of earlier builds of this machine are removed.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder_lock.h"
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

struct CompiledCacheOptions {
  // Private to the user, since its entries are believed; made where it is not there.
  std::string folder;
  // How long to wait for another process that compiles the same package, before kBusy.
  std::chrono::milliseconds max_wait = std::chrono::hours(12);
  // When it becomes true, waiting ends with kCancelled; a compilation cannot be stopped. May be
  // null; outlives the cache.
  const std::atomic<bool>* cancel = nullptr;
};

enum class CompileStage { kHashing, kWaiting, kCompiling, kReady };

struct CompileEvent {
  CompileStage stage = CompileStage::kHashing;
  std::string_view package;   // as it was named
  double seconds = 0;         // since the call began
  bool was_compiled = false;  // kReady: by this call
};
// Called from the thread of the call: at the beginning of each stage, and while it waits about once
// a second.
using CompileProgress = std::function<void(const CompileEvent&)>;

struct CompiledModel {
  std::string path;  // of the .mlmodelc
  // Tells this compilation from a later one of the same package.
  std::string id;
  // A lock: as long as somebody holds it, clear_compiled() leaves the entry alone.
  std::shared_ptr<const FolderLock> held;
};

// Thread-safe, across processes, too.
class CompiledCache {
 public:
  CompiledCache(std::shared_ptr<CoreMlRuntime> runtime, CompiledCacheOptions options);

  // The compiled model of a package, made where it is not there. kIo where a file cannot be read or
  // the disk is full, or where the package changes meanwhile, kBusy and kCancelled after waiting,
  // and what map_error() makes of the compiler's error; then there is no entry.
  Result<CompiledModel> get(const std::string& package, const CompileProgress& progress = nullptr);

  // What get() gives for a package whose compiled model `broken` does not load: it is compiled
  // again, unless somebody did so already. The errors of get().
  Result<CompiledModel> renew(const std::string& package, const CompiledModel& broken,
                              const CompileProgress& progress = nullptr);

 private:
  Result<CompiledModel> find_or_make(const std::string& package, const CompiledModel* broken,
                                     const CompileProgress& progress);
  Result<std::string> key_of(const std::string& package);
  Status make(const std::string& package, const std::string& key);
  void remove_earlier_builds() const;

  const std::shared_ptr<CoreMlRuntime> runtime_;
  const CompiledCacheOptions options_;
  const std::string machine_;  // "Mac16,10_"
  const std::string place_;    // "FOLDER/Mac16,10_25F71"
  std::mutex hashes_mutex_;    // FileHashes serves one thread at a time
};

// An entry on the disk.
struct CompiledEntry {
  std::string machine;  // "Mac16,10_24B83": the machine and the build of the system
  std::string key;
  std::string source;  // path of the package that it was made of; empty: not known
  std::uint64_t bytes = 0;
  bool is_complete = false;
  bool is_busy = false;  // a process makes or uses it
};

// The entries in a cache folder, by machine and key; none where there is no folder. Needs no Core
// ML. What cannot be read counts as nothing.
std::vector<CompiledEntry> list_compiled(const std::string& folder);
// Removes an entry of such a list, and gives its bytes: none where it is gone already, or where a
// process makes or uses it by now. kIo where it cannot be removed.
Result<std::uint64_t> remove_compiled(const std::string& folder, const CompiledEntry& entry);
// Removes the entries that no process makes or uses, what killed processes left, and the remembered
// hashes; gives the bytes that are free now. Files that the cache did not make stay. kIo where
// something cannot be removed; then the rest was tried as well.
Result<std::uint64_t> clear_compiled(const std::string& folder);

}  // namespace anemone::exec::coreml

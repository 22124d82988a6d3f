// SPDX-License-Identifier: Apache-2.0
#include "cli/file_watch.h"

#include <utility>

#include "base/error.h"
#include "base/file_identity.h"

namespace anemone::cli {
namespace {

constexpr std::chrono::seconds kLookPause{1};

}  // namespace

FileWatch::FileWatch(std::vector<std::string> paths, std::function<Clock::time_point()> now)
    : paths_(std::move(paths)), now_(std::move(now)), next_look_(now_() + kLookPause) {
  Status ignored;
  seen_ = look(ignored);
}

std::string FileWatch::look(Status& error) const {
  const auto files = FileIdentity::of_all(paths_);
  if (files.ok()) return text_of(*files);
  error = files.status();
  return std::string(error.message());
}

Result<bool> FileWatch::has_changed() {
  const Clock::time_point now = now_();
  if (now < next_look_) return false;
  next_look_ = now + kLookPause;
  Status error;
  std::string seen = look(error);
  if (seen == seen_) return false;
  seen_ = std::move(seen);
  ANEMONE_RETURN_IF_ERROR(error);
  return true;
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// The path behind MODEL: itself if there is something, or the folder of a model of the hub
// (OWNER/NAME) that `anemone pull` or the hub's own tools downloaded. kIo for anything else. It
// never downloads: a mistyped path is not a reason to ask the network.
Result<std::string> model_path(const std::string& model);

}  // namespace anemone::cli

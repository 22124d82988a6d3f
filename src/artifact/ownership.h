// SPDX-License-Identifier: Apache-2.0
// What of a folder anemone wrote, and so may delete.
#pragma once

#include <anemone/status.h>

#include <set>
#include <string>

namespace anemone::artifact {

// Ok when everything in `folder` is what its own manifest.json lists (files may be missing or
// damaged), so that nobody loses anything when it goes. Links are not followed. kInvalidArgument
// naming what is in the way: the first other file, or a manifest that is not anemone's.
Status check_all_is_ours(const std::string& folder);

// The same for the files below FOLDER/NAME, which `listed` has with paths relative to the folder.
Status check_all_is_listed(const std::string& folder, const std::string& name,
                           const std::set<std::string>& listed);

}  // namespace anemone::artifact

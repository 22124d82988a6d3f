// SPDX-License-Identifier: Apache-2.0
// Which files of a folder anemone wrote, and so may delete.
#pragma once

#include <anemone/status.h>

#include <set>
#include <string>

namespace anemone::artifact {

// Files are listed with paths relative to the folder. Ours is a regular file that is listed, or the
// temporary file of one (without_temporary_suffix()), and a folder that such a file may lie in.
// Links are not followed; they belong to the user.

// Ok when everything in `folder` is what its own manifest.json lists (files may be missing or
// damaged), so that nobody loses anything when it goes. kInvalidArgument naming what is in the way:
// the first other file, or a manifest that is not anemone's.
Status check_all_is_ours(const std::string& folder);
// Checks the same, and deletes it: each file by itself, in the folder where it was seen, whatever
// its path leads to by then. What somebody puts there meanwhile stays, and so does the folder that
// it lies in. The manifest goes last, so that a process that is killed leaves what is still ours.
Status remove_all_that_is_ours(const std::string& folder);

// check and remove the same way for FOLDER/NAME, a file or a folder, and what is listed below it.
Status check_all_is_listed(const std::string& folder, const std::string& name,
                           const std::set<std::string>& listed);
Status remove_all_that_is_listed(const std::string& folder, const std::string& name,
                                 const std::set<std::string>& listed);

}  // namespace anemone::artifact

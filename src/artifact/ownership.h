// SPDX-License-Identifier: Apache-2.0
// Which files of a folder anemone wrote, and so may delete.
#pragma once

#include <anemone/status.h>

#include <set>
#include <string>

namespace anemone::artifact {

// Whether the folder is to be read as an artifact: it has a manifest.json. If a checkpoint or a
// package lies beside it, the file must look like one of ours, because extensions and web pages
// have files of that name, too.
bool is_artifact(const std::string& folder);

// Lists have paths relative to the folder. "Ours" is said of regular files that are listed, of
// their temporary files (without_temporary_suffix()), and of the folders that these may lie in.
// Links are not followed; they belong to the user.

// Ok when `folder` holds only files that its own manifest.json lists (some may be missing or
// damaged), so that deleting it destroys nothing else. kInvalidArgument naming the first other
// file, or a manifest that is not anemone's.
Status check_all_is_ours(const std::string& folder);
// Checks the same, and deletes the folder: each file by itself, through the open folder in which it
// was found and not by its path, which may lead elsewhere by then. A file that somebody adds
// meanwhile stays, and so does the folder that it lies in. The manifest is deleted last, so that
// after a kill the next call still recognizes the files as ours.
Status remove_all_that_is_ours(const std::string& folder);

// check_all_is_ours() and remove_all_that_is_ours() for FOLDER/NAME, a file or a folder, with a
// list of files in place of a manifest.
Status check_all_is_listed(const std::string& folder, const std::string& name,
                           const std::set<std::string>& listed);
Status remove_all_that_is_listed(const std::string& folder, const std::string& name,
                                 const std::set<std::string>& listed);

}  // namespace anemone::artifact

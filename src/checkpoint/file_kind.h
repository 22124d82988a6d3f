// SPDX-License-Identifier: Apache-2.0
// What a file is that is no model, told from its first bytes: a page that was saved in place of a
// download, an archive that was not unpacked, the weights of a checkpoint without their folder.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace anemone::checkpoint {

// As many bytes as name_file_kind() looks at: a tar file has its magic number at byte 257.
inline constexpr std::size_t kFileKindBytes = 512;

// What the bytes at the start of a file say it is, and what to do: "a gzip file: unpack it first".
// `name` is the name of the file, which tells an ONNX file (its format has no magic number) and a
// JSON file from others. `head` may be shorter than kFileKindBytes. Never empty.
std::string name_file_kind(std::span<const std::byte> head, std::string_view name);

// The error of a regular file that is neither a GGUF file nor in a folder that was named:
// kUnsupported with what it is and what to do; kIo where it cannot be opened.
Status not_a_model(const std::string& path);

}  // namespace anemone::checkpoint

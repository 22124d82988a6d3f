// SPDX-License-Identifier: Apache-2.0
// Tells what a file is that is not a whole model: from its first bytes a page that was saved in
// place of a download, an archive that was not unpacked, or the weights of a checkpoint without
// their folder; from its size a download that did not end.
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anemone::checkpoint {

// How many bytes name_file_kind() looks at: a tar file has its magic number at byte 257.
inline constexpr std::size_t kFileKindBytes = 512;

// Whether a safetensors file may begin so: with the length of its header in eight bytes, and the
// header as JSON. `head` may be shorter than kFileKindBytes.
bool is_safetensors(std::span<const std::byte> head);

// What the bytes at the start of a file say it is, and what to do: "a gzip file: unpack it first".
// `name` is the name of the file, which tells an ONNX file (its format has no magic number) and a
// JSON file from others. `head` may be shorter than kFileKindBytes. Never empty.
std::string name_file_kind(std::span<const std::byte> head, std::string_view name);

// The error of a regular file that is neither a GGUF file nor in a folder that was named:
// kUnsupported with what it is and what to do; kIo where it cannot be opened.
Status not_a_model(const std::string& path);

// The error of a file that has `bytes` of the `whole` that its header speaks of: kCorrupt.
Status cut_short(const std::string& path, std::uint64_t bytes, std::uint64_t whole);

}  // namespace anemone::checkpoint

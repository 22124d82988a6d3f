// SPDX-License-Identifier: Apache-2.0
// From what a person names as a model to the files of it.
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// Whether a model of the hub that is not here is downloaded without a question (--yes). Without it
// a person at a terminal is asked, and where there is none the command ends with an error: a
// mistyped path is not a reason to load gigabytes. Set once, before threads begin.
void set_downloads_without_question(bool value);

struct NamedModel {
  std::string path;  // of a folder or file
  std::string name;  // how people call it: "Qwen2.5-0.5B-Instruct"
};

// The files behind MODEL: the path itself if there is something, else a model of the hub
// (hub/model_reference.h) that was downloaded before, by `anemone pull` or the hub's own tools, or
// that is downloaded now. A folder that holds one GGUF model and no checkpoint (model.safetensors,
// its index, or an ONNX bundle) stands for the first file of it. kIo if nothing has the name (the
// message says which names work), and for files that this user may not read.
Result<NamedModel> find_model(const std::string& model);
Result<std::string> model_path(const std::string& model);

// The name under which `serve` serves MODEL without --alias: the last part of its path.
std::string served_name(const std::string& model);

}  // namespace anemone::cli

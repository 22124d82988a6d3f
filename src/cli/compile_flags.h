// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace anemone::cli {

// The flags of `compile` as they are given.
struct CompileFlags {
  std::string model;
  std::string output;
  std::string name;  // of the model; empty: that of the checkpoint
  std::string processor = "ane";
  std::string precision = "fp16";
  std::string quantization = "auto";
  std::vector<std::int64_t> contexts;
  std::int64_t prefill = 0;  // not given
  std::int64_t draft_width = 0;
  bool has_range_dim = false;
  std::string form;
  std::string cache;
  bool has_argmax = false;
  std::string layout;
  std::string experts;
  std::string shards = "auto";
  std::string plan;
  std::string target = "ios18";
  std::int64_t block_size = 32;
  std::string lut_mode = "kmeans";
  std::int64_t group_size = 32;
  std::int64_t quant_threshold = 2048;
  std::vector<std::string> quant_for;
  bool keep_head = false;
  int jobs = 0;
  bool is_resumed = false;
  bool is_detailed = false;
  bool is_dry_run = false;
  bool is_json = false;
};

// All flags of `compile`, into the options.
void add_compile_flags(CLI::App& command, CompileFlags& options, Context& context);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/jsonl_loop.h"

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/output.h"

namespace anemone::cli {

Status answer_lines(const std::function<Json(const Json& request)>& answer) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto request = parse_json(line, "request");
    const Json out = request.ok() ? answer(*request) : Json{{"error", request.status().message()}};
    ANEMONE_RETURN_IF_ERROR(print_json(out));
  }
  return {};
}

Result<std::string> read_stdin() {
  std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (std::cin.bad()) return io_error("[stdin] cannot read");
  return text;
}

}  // namespace anemone::cli

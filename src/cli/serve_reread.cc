// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_reread.h"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/file_watch.h"
#include "cli/serve_lines.h"

namespace anemone::cli {
namespace {

// Where the lines about such files go.
struct RereadLines {
  serve::LogFormat format = serve::LogFormat::kText;
  std::string_view event;
  std::string_view what;  // "the API keys"

  void read_again() const {
    write_if_there_is_room(
        server_line(format, event, {{"read_again", true}}, fmt::format("read {} again", what)));
  }
  void failed(const Status& status) const {
    write_if_there_is_room(
        server_line(format, event, {{"read_again", false}, {"error", status.message()}},
                    fmt::format("cannot read {} again: {}", what, status.message())));
  }
};

template <typename T>
serve::Reread<T> reread_of(std::vector<std::string> paths, std::function<Result<T>()> read,
                           const RereadLines& report) {
  const auto watch = std::make_shared<FileWatch>(std::move(paths));
  return [watch, read = std::move(read), report]() -> std::optional<T> {
    const auto changed = watch->has_changed();
    if (changed.ok() && !*changed) return std::nullopt;
    auto value = changed.ok() ? read() : Result<T>(changed.status());
    if (!value.ok()) {
      report.failed(value.status());
      return std::nullopt;
    }
    report.read_again();
    return *std::move(value);
  };
}

}  // namespace

serve::Reread<std::vector<serve::openai::ApiKey>> reread_keys(const ServeOptions& options) {
  if (options.key.file.empty()) return nullptr;
  return reread_of<std::vector<serve::openai::ApiKey>>(
      {options.key.file}, [key = options.key] { return read_api_keys(key); },
      {options.server.log_format, "api_keys", "the API keys"});
}

serve::Reread<std::shared_ptr<const serve::TlsContext>> reread_certificate(
    const ServeOptions& options) {
  if (options.tls_certificate.empty()) return nullptr;
  return reread_of<std::shared_ptr<const serve::TlsContext>>(
      {options.tls_certificate, options.tls_key},
      [certificate = options.tls_certificate, key = options.tls_key] {
        return serve::TlsContext::load(certificate, key);
      },
      {options.server.log_format, "tls_certificate", "the certificate"});
}

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "artifact/manifest_check.h"
#include "artifact/manifest_fields.h"
#include "artifact/manifest_io.h"
#include "base/error.h"

namespace anemone::artifact {

double ObjectWriter::shortest_double(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  // Read the way the manifest will be read; std::from_chars for double is missing on older macOS.
  const double out = Json::parse(text, end.ptr).get<double>();
  return static_cast<float>(out) == value ? out : static_cast<double>(value);
}

Json to_json(const Verification& verification) {
  ObjectWriter writer;
  fields(writer, verification);
  return writer.take();
}

Json to_json(const Manifest& manifest) {
  ObjectWriter writer;
  writer.member("format_version", needed_format_version(manifest));
  fields(writer, manifest);
  return writer.take();
}

Result<Manifest> manifest_from_json(const Json& json, std::string_view subject) {
  ObjectReader reader(json, subject);
  // The version is read before anything else: the other fields of another version may mean
  // something else.
  std::int64_t version = 0;
  reader.member("format_version", version);
  ANEMONE_RETURN_IF_ERROR(reader.status());
  if (version < 1 || version > kFormatVersion)
    return version_mismatch("[{}] expected format_version 1 to {}, got {}", subject, kFormatVersion,
                            version);
  Manifest manifest;
  fields(reader, manifest);
  ANEMONE_RETURN_IF_ERROR(reader.status());
  ANEMONE_RETURN_IF_ERROR(check_manifest(manifest, subject));
  if (const int needed = needed_format_version(manifest); version < needed)
    return corrupt("[{}] expected format_version {} for what the manifest has, got {}", subject,
                   needed, version);
  return manifest;
}

}  // namespace anemone::artifact

// SPDX-License-Identifier: Apache-2.0
// The files that a server reads again when they change. Each function looks at its files, so it is
// called before they are read; null where there is none. What cannot be read again is said in a
// line, and what was read before stays.
#pragma once

#include <memory>
#include <vector>

#include "cli/serve_flags.h"
#include "serve/http/tls_context.h"
#include "serve/openai/key_limits.h"
#include "serve/reread.h"

namespace anemone::cli {

// The keys of --api-key-file.
serve::Reread<std::vector<serve::openai::ApiKey>> reread_keys(const ServeOptions& options);

// --tls-cert with --tls-key.
serve::Reread<std::shared_ptr<const serve::TlsContext>> reread_certificate(
    const ServeOptions& options);

}  // namespace anemone::cli

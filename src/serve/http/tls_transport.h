// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "serve/http/tls_context.h"
#include "serve/http/transport.h"

namespace anemone::serve {

// A transport that speaks TLS as the server. It holds at most one piece of encrypted bytes each
// way, of some records (16 kB each). nullptr when there is no memory for it. It needs the context
// no more.
std::shared_ptr<Transport> make_tls_transport(StreamSocket socket, const TlsContext& context);

}  // namespace anemone::serve

// SPDX-License-Identifier: Apache-2.0
// `anemone run --socket`: a server that runs already (`anemone serve --socket`) makes the answer,
// so that no model is loaded here.
#pragma once

#include <anemone/status.h>

#include "cli/run.h"

namespace anemone::cli {

// Has the server on options.socket answer the prompt, and prints the answer as `run` does. Returns
// false and prints nothing if this process has to answer itself: nobody listens there, the server
// has no generating model of this name (the last part of options.model, as `serve` names models) or
// has another artifact of that name, or the flags ask for what JSON lines do not have. The prompt
// has been read. kIo when the connection breaks; else the errors of the server, with their codes.
Result<bool> run_on_server(const RunOptions& options);

}  // namespace anemone::cli

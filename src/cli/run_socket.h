// SPDX-License-Identifier: Apache-2.0
// `anemone run --socket`: a server that runs already (`anemone serve --socket`) makes the answer,
// so that no model is loaded here.
#pragma once

#include <anemone/status.h>

#include "cli/run.h"

namespace anemone::cli {

// Has the server on options.socket answer the prompt, and prints the answer as `run` does. False,
// and nothing is printed, where this process has to answer itself: nobody listens there, the server
// has no generating model of this name (the last part of options.model, as `serve` names models),
// or the flags ask for what JSON lines do not have. kIo when the connection breaks,
// kInvalidArgument for what the server refuses.
Result<bool> run_on_server(const RunOptions& options);

}  // namespace anemone::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/loop/request.h"
#include "serve/http/message.h"
#include "serve/metrics.h"

namespace anemone::serve {

// Has the metrics and the log hear of what a request does: wraps the callbacks of its choices.
// `choices` is n: the choices of one prompt stand next to each other. `model` is the name that the
// log gets. The metrics outlive the request.
void watch_request(engine::Request& request, std::int64_t choices, const std::string& model,
                   const std::shared_ptr<Responder>& responder, ModelMetrics& metrics);

}  // namespace anemone::serve

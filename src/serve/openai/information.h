// SPDX-License-Identifier: Apache-2.0
// The answers to GET: what the server tells of itself (Route::Get).
#pragma once

#include "serve/openai/route.h"

namespace anemone::serve::openai {

// {"status": "ok", "loading" or "error", ...}; 503 unless it is ok.
HttpResponse get_health(const Backend* backend, GetCall call);
// For Prometheus.
HttpResponse get_metrics(const Backend* backend, GetCall call);
// {"version": "0.1.0"}.
HttpResponse get_version(const Backend* backend, GetCall call);
// The routes /props and /slots of llama.cpp, of the model that ?model= names.
HttpResponse get_props(const Backend* backend, GetCall call);
HttpResponse get_slots(const Backend* backend, GetCall call);
// The description of all routes (openapi.h).
HttpResponse get_openapi(const Backend* backend, GetCall call);
HttpResponse get_models(const Backend* backend, GetCall call);
HttpResponse get_model(const Backend* backend, GetCall call);

}  // namespace anemone::serve::openai

// SPDX-License-Identifier: Apache-2.0
// The paths of the server, as a table: what is asked for, who answers it and who may ask.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/openai/backend.h"

namespace anemone::serve::openai {

// What a GET is answered from, beside the backend.
struct GetCall {
  std::string_view parameter;  // what stands for the {name} of the path, as it was sent
  std::string_view query;      // the text after the first "?" of the target, as it was sent
  std::int64_t created = 0;    // when the server was started, in seconds since 1970
  HeaderList headers;          // that the answer is to have
};

// One method of one path.
struct Route {
  // Called on the thread that moves all bytes: takes no time to speak of. The backend is null while
  // the models are loaded, for routes that answer then.
  using Get = HttpResponse (*)(const Backend* backend, GetCall call);
  // Decodes the body and calls a function of Backend, with its result. It may set Call::awaited
  // instead, if the model has to be loaded first.
  using Post = std::optional<ApiError> (*)(Backend& backend, std::string_view body, Call& call);

  // Without the version: every path works with /v1 before it and without. One that ends with
  // {name} stands for everything that begins like it and is no other path.
  std::string_view path;
  Get get = nullptr;  // also of HEAD; null: the method is POST
  Post post = nullptr;
  bool is_public = false;        // needs no key
  bool answers_loading = false;  // while the models are loaded
  bool is_polled = false;        // by programs, all the time: the log leaves out what went well
  std::string_view summary;      // one line for openapi.json
  // The members of the body that have to be there, as {"name": schema, ...} in JSON; of a POST.
  std::string_view required = {};
  std::string_view optional = {};  // those of openapi.json that need not be there, in the same way
  bool takes_model = false;        // a GET whose ?model= picks one of several models
};

std::span<const Route> routes();

// The route of a path and method. Where there is none, `methods` is empty if nothing has this path.
struct RouteMatch {
  const Route* route = nullptr;
  std::string_view parameter;
  bool is_public = false;  // of the path
  std::string methods;     // "GET, HEAD, OPTIONS"
};
RouteMatch find_route(std::string_view path, std::string_view method);

}  // namespace anemone::serve::openai

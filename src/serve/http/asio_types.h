// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: short names for what all of it uses of Asio.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace anemone::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;
// Sockets of TCP and Unix sockets alike.
using StreamProtocol = asio::generic::stream_protocol;
using StreamSocket = StreamProtocol::socket;

}  // namespace anemone::serve

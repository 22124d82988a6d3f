# SPDX-License-Identifier: Apache-2.0
"""Raw HTTP over a socket: requests are bytes, so that they can be as wrong as an attacker likes."""

import json
import socket
import time
from dataclasses import dataclass

from .case import Failure, Slow
from .process import load_factor, shown


@dataclass
class Answer:
    status: int  # 0: the connection ended without one
    headers: list
    body: bytes
    seconds: float = 0

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise Failure(f"expected JSON, got {shown(self.body)}") from error


def parse(raw):
    """All answers in the bytes of a connection, the last one perhaps cut."""
    answers, at = [], 0
    while at < len(raw):
        end = raw.find(b"\r\n\r\n", at)
        lines = raw[at : end if end >= 0 else at + 1000].decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if end < 0 or len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise Failure(f"expected an HTTP answer, got {shown(raw[at:at + 1000])}")
        headers = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines[1:])]
        answer = Answer(int(words[1]), headers, b"")
        at = end + 4
        if (answer.header("Transfer-Encoding") or "").lower() == "chunked":
            answer.body, at = unchunk(raw, at)
        else:
            length = int(answer.header("Content-Length") or 0)
            answer.body, at = raw[at : at + length], at + length
        if answer.status >= 200:
            answers.append(answer)
    return answers


def unchunk(raw, at):
    """The body, and where it ends."""
    body = b""
    while at < len(raw):
        end = raw.find(b"\r\n", at)
        if end < 0:
            break
        count = int(raw[at:end].split(b";")[0], 16)
        at = end + 2
        if count == 0:
            return body, at + 2
        body += raw[at : at + count]
        at += count + 2
    return body, len(raw)


def connect(address, timeout=10):
    connection = socket.create_connection(address, timeout=timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def is_complete(raw, count):
    if raw.count(b"HTTP/1.1 ") < count:
        return False  # cheap, for long pipelines
    try:
        answers = parse(raw)
    except (Failure, ValueError):
        return False
    if len(answers) < count:
        return False
    last = answers[-1]
    if (last.header("Transfer-Encoding") or "").lower() == "chunked":
        return raw.endswith(b"0\r\n\r\n")
    return len(last.body) >= int(last.header("Content-Length") or 0)


def talk(address, raw, seconds=5.0, count=1, end_writing=False, listen=0.0):
    """Sends bytes and reads until `count` answers are complete, or the server closes. Listens for as many seconds to
    what comes after them. Slow when there is none long after `seconds`; whether it was in time is for the caller."""
    begin = time.monotonic()
    data = b""
    with connect(address, timeout=2 * seconds * load_factor()) as connection:
        try:
            connection.sendall(raw)
            if end_writing:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before all was sent; the answer is there to be read
        try:
            is_open = True
            while is_open and not is_complete(data, count):
                piece = connection.recv(1 << 20)
                is_open = bool(piece)
                data += piece
        except socket.timeout as error:
            raise Slow(f"no answer within {time.monotonic() - begin:.0f} s") from error
        except ConnectionResetError:
            is_open = False
        took = time.monotonic() - begin
        connection.settimeout(listen or None)
        try:
            while is_open and listen and (piece := connection.recv(1 << 20)):
                data += piece
        except OSError:
            pass
    answers = parse(data)
    for answer in answers:
        answer.seconds = took
    return answers


def request(method, path, headers=(), body=b"", host="localhost", version="1.1"):
    if isinstance(body, str):
        body = body.encode()
    lines = [f"{method} {path} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{key}: {value}" for key, value in headers]
    if (body or method == "POST") and not any(key.lower() == "content-length" for key, _ in headers):
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape") + body


def post(path, body, headers=()):
    if not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    return request("POST", path, [("Content-Type", "application/json"), *headers], body)

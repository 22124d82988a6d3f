#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a server with the OpenAI API and says how it answers. See README.md beside this file."""
import argparse
import concurrent.futures
import json
import random
import resource
import socket
import statistics
import sys
import threading
import time
import urllib.parse


class Stream:
    """One streamed completion over a connection of its own."""

    def __init__(self, url, prompt, tokens, **more):
        self.address = urllib.parse.urlsplit(url)
        self.body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                                "stream_options": {"include_usage": True}, **more}).encode()
        self.text = ""
        self.times = []  # of the events that hold text
        self.usage = {}
        self.status = 0
        self.error = None

    def run(self, give_up_after=None):
        """Returns itself. With `give_up_after` the client leaves after so many events."""
        with socket.create_connection((self.address.hostname, self.address.port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.start = time.perf_counter()
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                               b"Content-Length: %d\r\n\r\n" % len(self.body) + self.body)
            with connection.makefile("rb") as lines:
                self.status = int(lines.readline().split()[1])
                for line in lines:
                    if not line.startswith(b"data: "):
                        if self.status != 200 and line.startswith(b"{"):
                            self.error = json.loads(line)["error"]["message"]
                        continue
                    if line.startswith(b"data: [DONE]"):
                        break
                    event = json.loads(line[6:])
                    if "error" in event:
                        self.error = event["error"]["message"]
                        break
                    if event.get("usage"):
                        self.usage = event["usage"]
                    for choice in event.get("choices", []):
                        if choice.get("text"):
                            self.text += choice["text"]
                            self.times.append(time.perf_counter())
                    if give_up_after is not None and len(self.times) >= give_up_after:
                        return self
        return self

    @property
    def first_s(self):
        return self.times[0] - self.start if self.times else float("nan")

    @property
    def tokens(self):
        return self.usage.get("completion_tokens", 0)


def prompt_of(seed, length, vocab):
    # Ids that are ordinary tokens in every vocabulary.
    choice = random.Random(seed)
    return [choice.randrange(300, vocab) for _ in range(length)]


def together(streams):
    """Runs streams at the same time; their total time in seconds."""
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(len(streams)) as pool:
        list(pool.map(Stream.run, streams))
    for stream in streams:
        if stream.status != 200 or stream.error:
            sys.exit(f"status {stream.status}: {stream.error}")
    return time.perf_counter() - start


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def cpu_share(action):
    """What the action returns, and how many processors this program took meanwhile."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime
    before, start = used(), time.perf_counter()
    out = action()
    return out, (used() - before) / (time.perf_counter() - start)


def table(options, seed):
    """Total speed, time to the first token and between tokens by the number of streams."""
    print("streams  tok/s  first token ms (median, p95)  between tokens ms (median, p95)  load generator's processors")
    totals = {}
    for count in options.streams:
        streams = [Stream(options.url, prompt_of(f"{seed} {count} {i}", options.prompt, options.vocab), options.tokens,
                          **options.request) for i in range(count)]
        time_s, share = cpu_share(lambda: together(streams))
        # The speed of the decoding itself: from the last first token to the first last one would leave streams out.
        decoded = sum(stream.tokens - 1 for stream in streams)
        decode_s = max(s.times[-1] for s in streams) - min(s.times[0] for s in streams)
        gaps = [b - a for stream in streams for a, b in zip(stream.times, stream.times[1:])]
        firsts = [stream.first_s for stream in streams]
        totals[count] = decoded / decode_s
        print(f"{count:7}  {totals[count]:5.1f}  {1e3 * statistics.median(firsts):13.0f} {1e3 * quantile(firsts, 0.95):12.0f}"
              f"  {1e3 * statistics.median(gaps):17.1f} {1e3 * quantile(gaps, 0.95):10.1f}  {share:.2f}", flush=True)
    return totals


def beside_a_long_prompt(options, seed):
    """The first token of short requests that come while a long prompt is read."""
    solo = [Stream(options.url, prompt_of(seed + 1000 + i, 16, options.vocab), 8) for i in range(5)]
    for stream in solo:
        stream.run()
    own = statistics.median(stream.first_s for stream in solo)
    step = statistics.median(b - a for stream in solo for a, b in zip(stream.times, stream.times[1:]))
    alone = Stream(options.url, prompt_of(seed + 1, options.long, options.vocab), 1).run().first_s
    waits, slowdowns = [], []
    for round_ in range(options.rounds):
        long = Stream(options.url, prompt_of(seed + 100 + round_, options.long, options.vocab), 1)
        thread = threading.Thread(target=long.run)
        thread.start()
        time.sleep(alone * random.Random(seed + round_).uniform(0.1, 0.6))
        short = Stream(options.url, prompt_of(seed + 5000 + round_, 16, options.vocab), 1).run()
        thread.join()
        waits.append((short.first_s - own) / step)
        slowdowns.append(alone / long.first_s)
    print(f"step {1e3 * step:.1f} ms, own first token {1e3 * own:.0f} ms, long prompt alone {alone:.2f} s")
    print(f"first token beside it, beyond its own, in steps: median {statistics.median(waits):.1f}, p95 {quantile(waits, 0.95):.1f}")
    print(f"speed of the long prompt against alone: median {statistics.median(slowdowns):.2f}, least {min(slowdowns):.2f}")


def turns(options, seed):
    """The first token of a second turn against that of the same new tokens alone."""
    ratios = []
    for round_ in range(options.rounds):
        history = prompt_of(seed + round_, 1500, options.vocab)
        new = prompt_of(seed + 900 + round_, 40, options.vocab)
        Stream(options.url, history, 1).run()
        second = Stream(options.url, history + new, 1).run()
        alone = Stream(options.url, new, 1).run()
        cached = second.usage["prompt_tokens_details"]["cached_tokens"]
        if cached < 1400:
            sys.exit(f"expected the history in the cache, got {cached} tokens of it")
        ratios.append(second.first_s / alone.first_s)
    print(f"first token of a second turn against the new tokens alone: median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def shared_prompt(options, seed):
    """How often the tokens of one system prompt are read by eight requests at a time."""
    system = prompt_of(seed, 1000, options.vocab)
    streams = [Stream(options.url, system + prompt_of(seed + 1 + i, 8, options.vocab), 4) for i in range(8)]
    together(streams)
    read = sum(s.usage["prompt_tokens"] - s.usage["prompt_tokens_details"]["cached_tokens"] for s in streams)
    print(f"tokens read of eight prompts of 1008: {read} (1000 + 64 when the common part is read once)")


def load_mixed(options, seed):
    """Sends requests of several families, 64 at a time; the clients of a fifth leave before the end. Returns the requests,
    and a dict of the answers that came to their end, by the index of the request."""
    choice = random.Random(seed)
    families = [prompt_of(seed + f, 40 + 60 * f, options.vocab) for f in range(5)]
    asked = [(families[choice.randrange(5)][:choice.randrange(1, 300)] + prompt_of(choice.random(), choice.randrange(20), options.vocab),
              choice.randrange(1, 24)) for _ in range(options.requests)]
    leaves = [choice.randrange(1, 6) if choice.random() < 0.2 else None for _ in asked]
    done = {}

    def one(i):
        while True:
            stream = Stream(options.url, *asked[i])
            stream.run(leaves[i])
            if stream.status != 429:
                return i, stream
            time.sleep(0.2)

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for i, stream in pool.map(one, range(len(asked))):
            if stream.status != 200 or stream.error:
                sys.exit(f"request {i}: status {stream.status}: {stream.error}")
            if leaves[i] is None or len(stream.times) < leaves[i]:
                done[i] = stream.text
    return asked, done


def mixed(options, seed):
    """Each answer of a mixed load is that of its request alone."""
    asked, done = load_mixed(options, seed)
    wrong = sum(Stream(options.url, *asked[i]).run().text != text for i, text in done.items())
    print(f"{len(asked)} requests, 64 at a time, {len(asked) - len(done)} dropped: {len(done)} answers compared with runs alone, {wrong} differ")
    return wrong == 0


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def soak(options, seed):
    """Mixed loads for a while: the memory of the server does not grow."""
    if options.pid is None:
        sys.exit("[--pid] expected the number of the server's process, got none")
    end, samples, rounds = time.monotonic() + 60 * options.minutes, [], 0
    while time.monotonic() < end:
        load_mixed(options, seed + 1000 * rounds)
        rounds += 1
        samples.append(resident_mb(options.pid))
        print(f"  {rounds * options.requests:8} requests  {samples[-1]:8.1f} MB", flush=True)
    if len(samples) < 6:
        sys.exit(f"[--minutes] expected time for 6 rounds, got {len(samples)}")
    # The first third fills the caches.
    third = len(samples) // 3
    middle, last = statistics.median(samples[third:2 * third]), statistics.median(samples[2 * third:])
    print(f"{rounds * options.requests} requests in {options.minutes} minutes: {middle:.1f} MB in the middle third, {last:.1f} MB in the last")
    return last <= 1.02 * middle + 1


def main():
    tests = {"table": table, "long-prompt": beside_a_long_prompt, "turns": turns, "shared-prompt": shared_prompt, "mixed": mixed,
             "soak": soak}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="http://HOST:PORT")
    parser.add_argument("tests", nargs="*", default=[], help=f"of {', '.join(tests)}; all but soak without one")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--prompt", type=int, default=32, help="tokens of each prompt of the table")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each answer of the table")
    parser.add_argument("--request", type=json.loads, default={}, metavar="JSON",
                        help="""more fields of the table's requests, such as '{"temperature": 0.7, "top_p": 0.8}'""")
    parser.add_argument("--long", type=int, default=2000, help="tokens of the long prompt")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=30, help="how long soak lasts")
    parser.add_argument("--pid", type=int, help="of the server's process, whose memory soak reads")
    parser.add_argument("--vocab", type=int, default=100_000, help="prompts hold ids below this one")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    for name in options.tests or [name for name in tests if name != "soak"]:
        if name not in tests:
            parser.error(f"[{name}] expected one of {', '.join(tests)}")
        print(f"== {name}", flush=True)
        # Seeds of its own: the server may still have the prompts of another test in its cache.
        if tests[name](options, random.Random(f"{name} {options.seed}").randrange(1 << 40)) is False:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

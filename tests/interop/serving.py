# SPDX-License-Identifier: Apache-2.0
"""A server for the tests of a client."""

import contextlib
import subprocess
import time

# The pocket model's own template with tools and their calls, written as Qwen's models write them. The model has not learned to call
# anything: it does where it is forced to, and goes on where it reads its own calls.
TOOL_TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\n' }}{% for tool in tools %}{{ tool.function.name + ' ' }}{% endfor %}
{{- '<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' + message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + '}\n</tool_call>' }}
{%- endfor %}{{- '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
"""


@contextlib.contextmanager
def serving(anemone, model, folder, *flags):
    """The address of a server that ends with the block, in order."""
    ready = folder / "ready"
    log = open(folder / "serve.log", "w+")
    process = subprocess.Popen([anemone.path, "--threads", "2", "serve", str(model), "--port", "0", "--ready-file", str(ready),
                                *map(str, flags)], stderr=log, stdout=log)
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, (folder / "serve.log").read_text()
            time.sleep(0.02)
        yield ready.read_text().strip()
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0, (folder / "serve.log").read_text()
        assert not ready.exists()

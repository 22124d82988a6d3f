# SPDX-License-Identifier: Apache-2.0
"""Writes data/gguf/<name>.gguf: checkpoints of data/tiny as llama.cpp's converter writes them, without a tokenizer.

usage: python make_gguf.py LLAMA_CPP [name ...]      (torch, transformers; LLAMA_CPP is a source folder of llama.cpp)
"""

import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
# What the converter has to be told.
OPTIONS = {"qwen3_next": ["--no-nextn"], "qwen3_5_text": ["--no-nextn"]}
NAMES = ["gemma4_text", "gemma4_moe", "gpt_oss_mxfp4", "qwen3_next", "qwen3_5_text"]


def convert(converter, classes, name):
    source = HERE / "data" / "tiny" / name
    # The golden file stays out: the converter would take it for weights.
    with tempfile.TemporaryDirectory() as folder:
        for file in source.iterdir():
            if not file.name.startswith("golden"):
                (pathlib.Path(folder) / file.name).symlink_to(file.resolve())
        config = json.loads((source / "config.json").read_text())
        # It cuts embeddings to the size of the vocabulary.
        tokens = {str(i): i for i in range(config["vocab_size"])}
        (pathlib.Path(folder) / "tokenizer.json").write_text(json.dumps({"model": {"vocab": tokens}, "added_tokens": []}))
        classes(config["architectures"][0]).set_vocab = lambda self: None
        out = HERE / "data" / "gguf" / f"{name}.gguf"
        sys.argv = ["convert", folder, "--outfile", str(out), "--outtype", "bf16", "--model-name", name, *OPTIONS.get(name, [])]
        converter.main()


def main():
    llama = pathlib.Path(sys.argv[1])
    sys.path[:0] = [str(llama), str(llama / "gguf-py")]
    import convert_hf_to_gguf as converter
    from conversion import get_model_class
    names = sys.argv[2:] or NAMES
    (HERE / "data" / "gguf").mkdir(exist_ok=True)
    for name in names:
        convert(converter, get_model_class, name)


if __name__ == "__main__":
    main()

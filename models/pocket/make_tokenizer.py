# SPDX-License-Identifier: Apache-2.0
"""Trains the byte-level BPE of the pocket model and writes the tokenizer files.

    python make_tokenizer.py checkpoint
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import generate
from topics import words

VOCAB_SIZE = 1024
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# The regular expression of Qwen2: every digit is a token of its own, which is
# what lets a small model do sums.
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def corpus(count=60000):
    """Training text without the word drills: their endings would become merges,
    and a word and its plural would no longer share their first tokens."""
    rng = random.Random("tokenizer")
    categories = [c for c in generate.CATEGORIES if c not in ("plural", "past tense")]
    for index in range(count):
        for question, answer in generate.draw(rng, categories[index % len(categories)], "train"):
            yield f"user\n{question}"
            yield f"assistant\n{answer}"
    # the drills' fixed words, without any drilled word
    for template in (words.PLURAL_OF + words.PAST_OF) * 200:
        yield template.format(w="").replace("  ", " ")
    for text in ("The plural of", "The past tense of", "system\nYou are a helpful assistant. Answer briefly."):
        for _ in range(2000):
            yield text


def build():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE - len(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # all 256 bytes: any input can be encoded
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "checkpoint")
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = build()
    assert tokenizer.get_vocab_size() == VOCAB_SIZE
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = {text: tokenizer.token_to_id(text) for text in SPECIAL}
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {
            str(index): {"content": text, "lstrip": False, "normalized": False, "rstrip": False,
                         "single_word": False, "special": True}
            for text, index in ids.items()
        },
        "bos_token": None,
        "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "model_max_length": 512,
        "pad_token": "<|endoftext|>",
        "split_special_tokens": False,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    special = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    for name, value in (("tokenizer_config.json", config), ("special_tokens_map.json", special)):
        (folder / name).write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

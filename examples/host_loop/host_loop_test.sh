#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The small host makes the tokens that `anemone run` makes, of a prompt that takes one chunk and of one that takes more,
# with a vocabulary in one part and in several, and names what it cannot run.
# usage: host_loop_test.sh HOST_LOOP ANEMONE SOURCE
set -eu

host=$1 anemone=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$anemone" compile "$source/models/pocket/checkpoint" -o "$work/app" --form "$source/examples/host_loop/form.json" >"$work/log" 2>&1

numbers() { sed -n 's/.*"ids":\[\([0-9,]*\)\].*/\1/p' | tr , ' '; }

turn() { printf '<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n%s' "$1" "${2-}"; }
long=
while [ ${#long} -lt 900 ]; do long="$long$(turn 'What is 12 + 7?' '12 + 7 = 19.<|im_end|>')
"; done
for prompt in "$(turn 'What is 17 + 25?')" "$long$(turn 'What is 30 + 11?')"; do
  "$anemone" run "$work/app" "$prompt" --raw --greedy -n 12 --json >"$work/run.json" 2>"$work/log"
  # shellcheck disable=SC2046
  "$host" "$work/app" 12 $("$anemone" tokenize --model "$work/app" --json "$prompt" | numbers) >"$work/made"
  expected=$(numbers <"$work/run.json") got=$(tr '\n' ' ' <"$work/made" | sed 's/ $//')
  [ "$(echo "$expected" | wc -w)" -ge 6 ] && [ "$expected" = "$got" ] || { echo "expected the tokens $expected, at least six, got $got"; exit 1; }
  echo "ok: $got"
done

# What it does not know is named.
form=$source/examples/host_loop/form.json
refused() {
  name=$1 text=$2
  shift 2
  "$anemone" compile "$source/models/pocket/checkpoint" -o "$work/$name" "$@" >"$work/log" 2>&1
  if "$host" "$work/$name" 3 1 2>"$work/error"; then echo "expected $name to be refused, got none"; exit 1; fi
  grep -qF "$text" "$work/error" || { echo "expected \"$text\", got:"; cat "$work/error"; exit 1; }
}
refused height '[form.layout] expected tokens-in-width, got tokens-in-height' --form blend-states
refused growing 'expected a cache of the form readonly' --form "$form" --kv-form growing
refused tiers 'got a tier' --form "$form" --context 128,512
refused stored '[embedding] expected floats' --form portable
refused exact '[precision] expected fp16, got fp32' --form "$form" --precision fp32 --quant none
refused inside '[heads] expected packages of their own' --form "$form" --plan one-package

# A vocabulary of more than 16,384 tokens has several outputs in one package of the head, and an embedding in as many
# parts where the head is not quantized. Weights of bf16 from 0.125 to 0.5, of either sign, are written by awk.
wide=$work/wide
mkdir "$wide"
cat >"$wide/config.json" <<'JSON'
{"model_type": "qwen3", "vocab_size": 20000, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
 "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "rms_norm_eps": 1e-6, "rope_theta": 10000,
 "max_position_embeddings": 64, "tie_word_embeddings": true, "hidden_act": "silu", "eos_token_id": 0}
JSON
end=0 header='{'
tensor() {
  begin=$end end=$((end + 2 * $3))
  header="$header\"$1\": {\"dtype\": \"BF16\", \"shape\": [$2], \"data_offsets\": [$begin, $end]}"
}
tensor model.embed_tokens.weight '20000, 32' 640000; header="$header, "
for name in input_layernorm post_attention_layernorm; do tensor model.layers.0.$name.weight 32 32; header="$header, "; done
for name in q_norm k_norm; do tensor model.layers.0.self_attn.$name.weight 16 16; header="$header, "; done
for name in k_proj v_proj; do tensor model.layers.0.self_attn.$name.weight '16, 32' 512; header="$header, "; done
for name in self_attn.q_proj self_attn.o_proj mlp.gate_proj mlp.up_proj mlp.down_proj; do
  tensor model.layers.0.$name.weight '32, 32' 1024; header="$header, "
done
tensor model.norm.weight 32 32
{
  printf '\000\010\000\000\000\000\000\000%-2048s' "$header}"
  LC_ALL=C awk -v count=$((end / 2)) 'BEGIN {
    srand(1)
    for (i = 0; i < count; ++i) printf "%c%c", 1 + int(255 * rand()), rand() < 0.5 ? 62 : 190
  }'
} >"$wide/model.safetensors"
for quant in none auto; do
  "$anemone" compile "$wide" -o "$work/wide-$quant" --form "$form" --quant $quant >"$work/log" 2>&1
  [ "$(grep -o '"output": *"logits_[0-9]*"' "$work/wide-$quant/manifest.json" | wc -l)" -ge 2 ] || { echo "expected several outputs of the head"; exit 1; }
  [ $quant = auto ] || [ "$(grep -o '"file": *"head_0.mlpackage' "$work/wide-$quant/manifest.json" | wc -l)" -ge 2 ] || { echo "expected an embedding in several parts"; exit 1; }
  [ "$("$anemone" inspect "$work/wide-$quant" | grep -c 'embedding.* 20000 x 32')" = 1 ] || { echo "expected one line for the embedding"; exit 1; }
  "$anemone" run "$work/wide-$quant" --prompt-ids '17000 3 19999 16384' --greedy --ignore-eos -n 8 --json >"$work/run.json" 2>"$work/log"
  "$host" "$work/wide-$quant" 8 17000 3 19999 16384 >"$work/made"
  expected=$(numbers <"$work/run.json") got=$(tr '\n' ' ' <"$work/made" | sed 's/ $//')
  [ -n "$got" ] && case $expected in "$got"*) true ;; *) false ;; esac || { echo "expected the tokens $expected, got $got"; exit 1; }
  echo "ok: $got"
done
for arguments in '' '12' '12 -1' '12 1024' '600 1' 'x 1'; do
  # shellcheck disable=SC2086
  if "$host" "$work/app" $arguments 2>"$work/error"; then echo "expected [$arguments] to be refused, got none"; exit 1; fi
done

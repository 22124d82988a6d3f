#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The small host makes the tokens that `anemone run` makes, of a prompt that takes one chunk and of one that takes more,
# and refuses what it cannot run.
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

"$anemone" compile "$source/models/pocket/checkpoint" -o "$work/other" --form blend-states >"$work/log" 2>&1
if "$host" "$work/other" 3 1 2>"$work/error"; then echo "expected another form to be refused, got none"; exit 1; fi
grep -q 'expected the form of' "$work/error"
"$anemone" compile "$source/models/pocket/checkpoint" -o "$work/growing" --form "$source/examples/host_loop/form.json" --kv-form growing >"$work/log" 2>&1
if "$host" "$work/growing" 3 1 2>"$work/error"; then echo "expected growing caches to be refused, got none"; exit 1; fi
grep -q 'expected the form of' "$work/error"
for arguments in '' '12' '12 -1' '12 1024' '600 1' 'x 1'; do
  # shellcheck disable=SC2086
  if "$host" "$work/app" $arguments 2>"$work/error"; then echo "expected [$arguments] to be refused, got none"; exit 1; fi
done

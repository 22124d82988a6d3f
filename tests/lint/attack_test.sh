#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The attack run knows at least 300 cases, each with a name of its own and a reason.
# usage: attack_test.sh RUN     exit 77 (skipped) without python3
set -eu

run=$1
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
list=$(mktemp)
trap 'rm -f "$list"' EXIT

"$run" --list >"$list" 2>/dev/null
count=$(wc -l <"$list")
[ "$count" -ge 300 ] || { echo "expected at least 300 cases, got $count"; exit 1; }
same=$(cut -f1 "$list" | sort | uniq -d)
[ -z "$same" ] || { echo "expected one case of each name, got several: $same"; exit 1; }
if awk -F '\t' 'NF != 2 || $1 !~ /^[a-z]+\/.+/ || length($2) < 10 { print "expected a name and a reason, got: " $0; bad = 1 } END { exit !bad }' "$list"; then
  exit 1
fi
for surface in http jsonl socket stop command template tokenizer checkpoint artifact gguf onnx package tensor hub output cache mapped; do
  grep -q "^$surface/" "$list" || { echo "expected cases of $surface/, got none"; exit 1; }
done
# A case that is not there is a mistake of the caller, not a run without failures.
if "$run" --anemone /bin/true --filter 'no/such-case' >/dev/null 2>&1; then
  echo "expected a failure when no case has the name, got none"
  exit 1
fi
echo "$count cases"

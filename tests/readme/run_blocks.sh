#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every block of a Markdown file that is fenced as ```sh, in order, each with `sh -eu`, in a folder that
# looks like a checkout: its top-level entries are links to SOURCE, build/ is new, and `anemone` is on the PATH.
# Lines that set up the machine (./demo, ./check, git clone, cd anemone) are left out and named: the
# fresh-clone check (tools/ci/fresh_clone) runs those. Blocks with another fence are for reading only.
# usage: run_blocks.sh README ANEMONE SOURCE
set -eu

readme=$1 anemone=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Nothing of the machine's environment has a part in what a block does, least of all a proxy between
# this machine and itself.
unset NO_COLOR COLUMNS XDG_CACHE_HOME XDG_CONFIG_HOME HF_HOME
for variable in $(env | sed -n 's/^\(ANEMONE_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export no_proxy=127.0.0.1

mkdir "$work/bin" "$work/tree" "$work/tree/build" "$work/blocks" "$work/home"
ln -s "$anemone" "$work/bin/anemone"
for entry in "$source"/*; do
  name=$(basename "$entry")
  case $name in build | build-* ) continue ;; esac
  ln -s "$entry" "$work/tree/$name"
done
# ./demo would have left this behind for the lines after it.
if grep -q 'build/pocket' "$readme" && [ -d "$source/models/pocket/checkpoint" ]; then
  "$anemone" compile "$source/models/pocket/checkpoint" -o "$work/tree/build/pocket" >/dev/null
fi

awk -v folder="$work/blocks" '
  /^```sh[ \t]*$/ && !inside { inside = 1; file = sprintf("%s/%03d", folder, ++blocks); print "line=" NR > (file ".at"); next }
  /^```/ && inside { inside = 0; close(file); next }
  inside && /^[ \t]*(\.\/demo|\.\/check|git clone|cd anemone)/ { print "left out (needs a bare machine): " $0; next }
  inside { print > file }
  END { if (blocks == 0) { print "expected a block fenced as ```sh, got none"; exit 1 } }
' "$readme"

failed=0 ran=0
for at in "$work"/blocks/*.at; do
  block=${at%.at}
  [ -f "$block" ] || continue
  . "$at"
  status=0
  (cd "$work/tree" && HOME=$work/home PATH=$work/bin:$PATH sh -eu "$block") >"$work/output" 2>&1 </dev/null || status=$?
  ran=$((ran + 1))
  if [ "$status" -eq 0 ]; then
    echo "ok: the block at line $line"
  else
    failed=1
    echo "FAILED: the block at line $line exits $status:"
    sed 's/^/  | /' "$block"
    sed 's/^/  > /' "$work/output"
  fi
done
echo "$ran blocks run"
exit $failed

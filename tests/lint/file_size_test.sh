#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows that tools/check_file_size warns and fails where it should.
# usage: file_size_test.sh CHECK_FILE_SIZE
set -eu

check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

lines() { mkdir -p "$(dirname "$work/$2")"; awk -v n="$1" 'BEGIN { for (i = 0; i < n; ++i) print "//" }' >"$work/$2"; }
expect() {
  status=0
  output=$("$check" "$work" 2>&1) || status=$?
  if [ "$status" -ne "$1" ] || ! printf '%s\n' "$output" | grep -qF -- "$2"; then
    failed=1
    printf 'FAILED: %s\n  expected exit %s and "%s", got exit %s and:\n%s\n' "$3" "$1" "$2" "$status" "$output"
  else
    printf 'ok: %s\n' "$3"
  fi
}

mkdir "$work/src"
expect 1 'expected source files, got none' 'an empty tree does not pass by accident'
lines 400 src/base/a.cc
expect 0 '1 files, 0 long, 0 too long' '400 lines are fine'
lines 401 src/base/a.cc
expect 0 'src/base/a.cc: warning: 401 lines' '401 lines are a warning'
lines 800 src/base/a.cc
expect 0 'warning: 800 lines' '800 lines are still a warning'
lines 801 src/base/a.cc
expect 1 'src/base/a.cc: 801 lines, more than the limit of 800' '801 lines fail'
rm "$work/src/base/a.cc"
lines 10 src/base/a.cc
lines 2000 src/ops/table.gen.cc
lines 2000 tests/ops/data/cases.h
lines 2000 fuzz/corpus/json/case.py
expect 0 '1 files, 0 long, 0 too long' 'generated files and data are exempt'
lines 900 tools/long-script
expect 1 'tools/long-script: 900 lines' 'scripts without a suffix count'

exit $failed

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows that run_blocks.sh runs what it should and notices what fails.
# usage: run_blocks_test.sh RUN_BLOCKS
set -eu

run_blocks=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

mkdir -p "$work/source/models"
echo data >"$work/source/models/file"
cat >"$work/anemone" <<'SH'
#!/bin/sh
echo "fake anemone $*"
[ "$1" != break ]
SH
chmod +x "$work/anemone"

# expect STATUS TEXT WHAT, with the Markdown on stdin.
expect() {
  cat >"$work/README.md"
  status=0
  output=$(sh "$run_blocks" "$work/README.md" "$work/anemone" "$work/source" 2>&1) || status=$?
  if [ "$status" -ne "$1" ] || ! printf '%s\n' "$output" | grep -qF -- "$2"; then
    failed=1
    printf 'FAILED: %s\n  expected exit %s and "%s", got exit %s and:\n%s\n' "$3" "$1" "$2" "$status" "$output"
  else
    printf 'ok: %s\n' "$3"
  fi
}

expect 1 'got none' 'a README without blocks does not pass by accident' <<'MD'
# Title
MD
expect 0 '2 blocks run' 'blocks share the folder and see the checkout and the binary' <<'MD'
```sh
cat models/file >build/out
anemone compile x
```
```sh
test "$(cat build/out)" = data
```
MD
expect 1 'the block at line 1 exits' 'a command that fails fails the test' <<'MD'
```sh
anemone break
anemone fine
```
MD
expect 1 '> fake anemone break' 'the output of the failed block is shown' <<'MD'
```sh
anemone break
```
MD
expect 0 '1 blocks run' 'other fences are not run' <<'MD'
```text
anemone break
```
```console
anemone break
```
```sh
anemone fine
```
MD
expect 0 'left out (needs a bare machine): ./check' 'set-up commands are left out and named' <<'MD'
```sh
git clone somewhere && exit 1
./demo "What?" && exit 1
./check
anemone fine
```
MD

exit $failed

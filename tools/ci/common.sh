# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of tools/ci; sourced, not run. Prints the script's first comment for --help; sets root, cache and
# jobs and goes to the root.
case ${1-} in
  -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${ANEMONE_CACHE:-$HOME/.cache/anemone}
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
cd "$root"
mkdir -p "$cache" build
export ANEMONE_FSYNC=off  # what the checks write need not outlive a crash of the machine

headline() { printf '\n=== %s ===\n' "$1"; }
step() { printf -- '--- %s\n' "$1"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$1" >&2; exit 1; }

# quietly LOG COMMAND...: output into LOG, its end shown only on failure.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 && return 0
  local status=$?
  tail -n 60 "$log"
  die "$1 failed (exit $status), full log: $log"
}

# venv FOLDER REQUIREMENTS: a Python environment with these pinned packages; nothing is done while they are the
# ones that were installed last.
venv() {
  local folder=$1 requirements=$2
  if cmp -s "$requirements" "$folder/requirements.installed"; then return; fi
  step "installing $(basename "$requirements") into $folder"
  [[ -x $folder/bin/python ]] || python3 -m venv "$folder"
  quietly "$folder/pip.log" "$folder/bin/python" -m pip install -r "$requirements"
  cp "$requirements" "$folder/requirements.installed"
}

# The Debian mirror that this machine uses, so that one behind a mirror of its own works too.
debian_mirror() {
  local found
  found=$(sed -nE 's/^(URIs:|deb)[[:space:]]+(\[[^]]*\][[:space:]]+)?(https?:[^[:space:]]*debian\/?)([[:space:]].*)?$/\3/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
  echo "${found:-http://deb.debian.org/debian}"
}

# run_checks COMMAND...: each is the name of a script of tools/ci with its options; all run, also after a failure. One
# that hangs is ended after $check_minutes (default: 120) and has failed.
# Prints the end of what each failed one said once more, where a reader of the last lines finds it, then the time of
# each. Its status is the number of failures.
run_checks() {
  local check before log started=$SECONDS failed=() logs=()
  for check in "$@"; do
    before=$SECONDS
    log=build/check.${#times[@]}.log
    # Words of their own: a script and its options.
    # shellcheck disable=SC2086
    if timeout --kill-after=30 "${check_minutes:-120}m" tools/ci/$check 2>&1 | tee "$log"; then
      times+=("$(printf '%6d s  passed  %s' $((SECONDS - before)) "$check")")
    else
      times+=("$(printf '%6d s  FAILED  %s' $((SECONDS - before)) "$check")")
      failed+=("$check")
      logs+=("$log")
    fi
  done
  local i
  for i in "${!failed[@]}"; do
    headline "${failed[i]} failed; its last lines"
    tail -n 40 "${logs[i]}"
  done
  headline "$# checks, $((SECONDS - started)) s"
  printf '%s\n' "${times[@]}"
  return ${#failed[@]}
}
times=()

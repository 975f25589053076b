# shellcheck shell=bash
# What the scripts share; sourced by bash. Sets ROOT, the folder of the checkout.

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit "${2:-1}"
}

# Prints the comment block at the head of the calling script: its help.
usage() {
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
}

heading() { printf '\n== %s\n' "$*"; }

# Shows a command as one could type it, then runs it.
run() {
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

# free_space: of the disks that are written to, as "12M on /tmp, 80G on /".
free_space() {
  df -h --output=avail,target "$ROOT" "${TMPDIR:-/tmp}" / | sed '1d; s/^ *//; s/ \+/ on /' | sort -u | paste -s -d ',' | sed 's/,/, /g'
}

# explain MISSING STILL REASON: ends the script after a step failed, with a line that says what is MISSING, why, and STILL: what
# works without it. Exit code 5 if the disk is full, else 1.
explain() {
  local code=1 reason=$3
  if [[ $3 == full ]]; then
    code=5 reason="the disk is full ($(free_space))"
  fi
  die "missing: $1: $reason. $2 Then run the same command again: it continues." "$code"
}

# attempt MISSING STILL COMMAND...: runs a command that fetches and writes much, or explains why it failed.
attempt() {
  local missing=$1 still=$2 log reason='see above' code=0
  shift 2
  log=$(mktemp) || explain "$missing" "$still" full
  run "$@" 2>&1 | tee "$log" || code=$?
  if grep -qE 'No space left on device|enough free space|Disk quota exceeded' "$log"; then
    reason=full
  elif grep -qE 'Temporary failure (resolving|in name resolution)|Could not (resolve|connect)|Failed to (fetch|establish)|unreachable' "$log"; then
    reason='no network'
  fi
  rm -f "$log"
  ((code == 0)) || explain "$missing" "$still" "$reason"
}

# configure PRESET OPTION...: into build/PRESET, with ccache where there is one.
configure() {
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  run cmake -S "$ROOT" --preset "$1" "${launcher[@]}" "${@:2}"
}

# configure_and_build PRESET: into build/PRESET. Ninja configures again by itself.
configure_and_build() {
  [[ -f $ROOT/build/$1/build.ninja ]] || configure "$1"
  run cmake --build "$ROOT/build/$1" || build_failed "$ROOT/build/$1"
}

# After a compiler met a full disk, less is left than one compilation writes.
build_failed() {
  local reason='see above' folder
  for folder in "$1" "${TMPDIR:-/tmp}"; do
    (($(df -m --output=avail "$folder" | tail -n 1) > 100)) || reason=full
  done
  explain "a complete build in $1" "What was built is kept." "$reason"
}

# CPU seconds of the commands that this script has waited for.
cpu_seconds() {
  local fields
  read -ra fields </proc/$$/stat
  echo $(((fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

in_words() { if (($1 < 100)); then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi; }

# show_progress SECONDS LOG: reads the lines of ninja into LOG, and shows every ten seconds how much is left, by the time
# of the steps so far. The estimate SECONDS counts as if a tenth of the steps had taken as long as it says.
show_progress() {
  local line built total left started=$SECONDS shown=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$2"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((SECONDS - shown >= 10)) || continue
    built=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} shown=$SECONDS
    left=$(((total - built) * (10 * (SECONDS - started) + $1) / (10 * built + total)))
    echo "$built of $total steps, about $(in_words "$left") left"
  done
}

# build_and_predict BUILD UNIT PERCENT TARGET...: builds the targets. The target UNIT comes first, because it needs PERCENT of
# the CPU time of all on every machine: its time says how long the others take.
build_and_predict() {
  local build=$1 unit=$2 percent=$3 log=$1/build.log before rest
  echo "$ cmake --build $build --target ${*:4}"
  before=$(cpu_seconds)
  cmake --build "$build" --target "$unit" >"$log" 2>&1 || { cat "$log" && build_failed "$build"; }
  before=$(($(cpu_seconds) - before))
  rest=$((before * (100 - percent) / percent / $(nproc)))
  ((before < 2)) || echo "$unit took $before CPU s; the rest takes about $(in_words "$rest") on $(nproc) idle CPUs"
  NINJA_STATUS='[%f/%t] ' cmake --build "$build" --target "${@:4}" 2>&1 | show_progress "$rest" "$log" ||
    { cat "$log" && build_failed "$build"; }
}

# make_venv FOLDER LIST [PIP_OPTION...]: a virtual environment with the packages in LIST. It is made again when the list
# changes; pip is not asked otherwise.
make_venv() {
  if cmp -s "$2" "$1/requirements.txt"; then
    echo "Python packages: all in $1"
    return
  fi
  rm -rf "$1"
  run python3 -m venv "$1"
  attempt "the Python packages in $2" "With what is installed, --no-install still works." \
    "$1/bin/pip" install --quiet --disable-pip-version-check "${@:3}" -r "$2"
  cp "$2" "$1/requirements.txt"
}

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

# configure_and_build PRESET: into build/PRESET, with ccache where there is one. Ninja configures again by itself.
configure_and_build() {
  local build="$ROOT/build/$1"
  if [[ ! -f $build/build.ninja ]]; then
    local launcher=()
    if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    run cmake -S "$ROOT" --preset "$1" "${launcher[@]}"
  fi
  run cmake --build "$build"
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
  run "$1/bin/pip" install --quiet --disable-pip-version-check "${@:3}" -r "$2"
  cp "$2" "$1/requirements.txt"
}

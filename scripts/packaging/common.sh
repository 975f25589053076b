# shellcheck shell=bash disable=SC2034  # the variables are for those who source this
# What the scripts in this folder share; sourced by bash. Sets DIST, DEBIAN, PORTABLE, STATIC, VERSION and
# SOURCE_DATE_EPOCH. The packages are for the processors of SHARDKIT_ARCH: x86_64 or aarch64, by default those of this host.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

export SHARDKIT_ARCH=${SHARDKIT_ARCH:-$(uname -m)}
DIST=$ROOT/dist
DEBIAN=$ROOT/build/debian-$SHARDKIT_ARCH
PORTABLE=$ROOT/build/portable-$SHARDKIT_ARCH
STATIC=$ROOT/build/static-$SHARDKIT_ARCH
VERSION=$(sed -n 's/^set(SHARDKIT_VERSION \([^)]*\)).*/\1/p' "$ROOT/CMakeLists.txt")
# Archives carry this time, so that the same commit gives the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$ROOT" log -1 --format=%ct)}
# ccache must not shorten paths: the same source would have another name in __FILE__.
export CCACHE_BASEDIR=
[[ $(uname -m) == x86_64 ]] || die "releases are made on x86_64 only, also those for aarch64" 4
[[ $SHARDKIT_ARCH == x86_64 || $SHARDKIT_ARCH == aarch64 ]] || die "SHARDKIT_ARCH is x86_64 or aarch64, not '$SHARDKIT_ARCH'" 2

# packaging_tool NAME ARGUMENT...: a program of the packages in requirements.txt, which are installed on first use.
packaging_tool() {
  make_venv "$ROOT/build/packaging-venv" "$ROOT/scripts/packaging/requirements.txt" >&2
  "$ROOT/build/packaging-venv/bin/$1" "${@:2}"
}

# Prints the line about a file in DIST.
report() { printf '%s: %s MB\n' "${1#"$ROOT/"}" "$(awk -v bytes="$(stat -c %s "$1")" 'BEGIN {printf "%.1f", bytes / 1e6}')"; }

# configure_programs FOLDER OPTION...: the release preset with the toolchain and the libraries of FOLDER.
configure_programs() {
  local folder=$1 libraries=() name
  # Static libraries name none of those that they need themselves.
  for name in ssl crypto zstd lz4 bz2 lzma z; do
    libraries+=("$DEBIAN/sysroot/usr/lib/$SHARDKIT_ARCH-linux-gnu/lib$name.a")
  done
  cmake -S "$ROOT" --preset release -B "$folder" --toolchain "$folder/toolchain.cmake" \
    -DCMAKE_INSTALL_PREFIX="$folder/install" -DOPENSSL_USE_STATIC_LIBS=ON \
    -DCMAKE_CXX_STANDARD_LIBRARIES="${libraries[*]}" "${@:2}" >/dev/null
}

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by the scripts beside it: goes to the root of the repository and runs steps.
# shellcheck shell=bash
set -u

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root" || exit 1
logs=$root/build/logs
jobs=$(nproc 2>/dev/null || echo 2)
((jobs >= 2)) || jobs=2

# Prints the comment at the head of the running script: the text of --help.
usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" | grep -v '^shellcheck\|^SPDX-'
}

# split_options PROGRAM ARGUMENT...: --no-install goes to the array `setup`, the rest to `options`.
# --help prints the script's text, then the program's where that is built.
split_options() {
  local program=$1 option
  shift
  setup=() options=()
  for option in "$@"; do
    case $option in
      --no-install) setup+=("$option") ;;
      --help | -h)
        usage
        [[ ! -x $program ]] || exec "$program" --help
        exit
        ;;
      *) options+=("$option") ;;
    esac
  done
}

# step NAME LOG COMMAND...: one line with the time it took. Where it fails, also what $excerpt (a
# command; by default the last lines) takes from the log.
step() {
  local name=$1 log=$logs/$2.log began=${EPOCHREALTIME//[!0-9]/} status tenths verdict=''
  shift 2
  mkdir -p "$logs"
  printf '%-44s' "$name"
  "$@" >"$log" 2>&1 </dev/null
  status=$?
  tenths=$(((${EPOCHREALTIME//[!0-9]/} - began) / 100000))
  ((status == 0)) || verdict="  FAILED, log: ${log#"$root"/}"
  printf '%7d.%d s%s\n' $((tenths / 10)) $((tenths % 10)) "$verdict"
  ((status == 0)) || ${excerpt:-tail -n 40} "$log"
  return "$status"
}

# ccache where there is one; call it when setup is done. Paths below the root are hashed relative to
# it, so that a second clone finds what the first one compiled.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros  # else it keeps nothing that has precompiled headers
}

# configure PRESET [ARGUMENT...]
configure() {
  step "$1: configure" "$1-configure" cmake --preset "$@"
}

# build PRESET [TARGET...]: everything where no target is named.
build() {
  local preset=$1 targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  step "$preset: build" "$preset-build" cmake --build "build/$preset" -j "$jobs" "${targets[@]}"
}

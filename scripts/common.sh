# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by the other scripts: changes to the root of the repository and defines functions that run steps.
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

# split_options PROGRAM ARGUMENT...: puts --no-install into the array `setup`, the rest into `options`. --help prints
# the script's text, then that of the program if it is built.
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

# step NAME LOG COMMAND...: runs a command and prints one line with its time. If it fails, also prints the excerpt of
# the log that $excerpt selects (a command; by default the last lines).
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

# Uses ccache if it is installed; call it after setup. Hashes paths below the root relative to it, so that a second
# clone reuses the results of the first one.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_OBJCXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros  # otherwise it caches nothing with precompiled headers
}

# configure PRESET [ARGUMENT...]
configure() {
  step "$1: configure" "$1-configure" cmake --preset "$@"
}

# build PRESET [TARGET...]: builds everything if no target is named.
build() {
  local preset=$1 targets=()
  shift
  (($# == 0)) || targets=(--target "$@")
  step "$preset: build" "$preset-build" cmake --build "build/$preset" -j "$jobs" "${targets[@]}"
}

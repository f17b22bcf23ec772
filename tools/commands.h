// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subcommands of `halyard`: the options of each, and its function. main.cpp parses a command
// line into these; the help texts there describe the options.
//
// A command prints its result on stdout, as text or, with `json`, as one JSON object. It returns
// the exit code: kDone, or kFailed if the result itself is a failure. On an error main prints the
// Status as one line on stderr (a compiler's diagnostics unchanged), with exit code kFailed.
#pragma once

#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::tools {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // includes an invalid command line

struct DevicesOptions {
  std::string uri;  // empty: all devices of this machine
  bool json = false;
};
Result<int> devices(const DevicesOptions& options);

// The cache of compiled sources. If `folder` is empty: the default folder, if it is usable.
struct CacheOptions {
  std::string folder;
  bool off = false;
};

struct CompileOptions {
  std::string source;
  std::string manifest;              // of a foreign source; or empty
  std::string output;                // empty: the source's name with .hyx, in the current directory
  std::string depfile;               // empty: none
  std::vector<std::string> targets;  // empty: the compiler's choice
  std::vector<std::string> include_dirs;
  int optimization = 3;
  bool debug = false;
  bool checked = false;
  bool checked_cpu = false;
  CacheOptions cache;
  bool json = false;
};
Result<int> compile(const CompileOptions& options);

struct InspectOptions {
  std::string file;
  std::string device;  // URI: adds the kernels' resources there; empty: none
  bool json = false;
};
Result<int> inspect(const InspectOptions& options);

struct PackOptions {
  std::string manifest;
  std::vector<std::string> images;  // "target=file", "target:convention=file"; at least one
  std::string output;
  bool json = false;
};
Result<int> pack(const PackOptions& options);

struct RunOptions {
  std::string file;  // .hyx, or the .hyk to compile first
  std::string kernel;
  std::string device = "cpu://";
  std::string items;                      // "X[,Y[,Z]]"; items or groups; for tensors neither
  std::string groups;                     // as items
  std::vector<std::string> args;          // "name=value"
  std::vector<std::string> ins;           // "name=in.npy"
  std::vector<std::string> inouts;        // "name=in.npy[:out.npy]"
  std::vector<std::string> outs;          // "name=out.npy[:shape]"
  std::vector<std::string> tiles;         // "name=X[,Y[,Z]]"
  std::vector<std::string> include_dirs;  // for a .hyk
  CacheOptions cache;                     // the same
  bool json = false;
};
Result<int> run(const RunOptions& options);

struct TraceOptions {
  std::string output = "trace.json";
  unsigned limit = 0;                // MiB; 0: HALYARD_PROFILE_LIMIT, or its default
  std::vector<std::string> program;  // with its arguments; at least one
  bool json = false;
};
// Returns the program's exit code; 128 + the signal if a signal ended it.
Result<int> trace(const TraceOptions& options);

struct VerifyOptions {
  std::string device = "cpu://";
  std::string filter = "*";
  std::string exclusions;  // path of a file; empty: Halyard's own only
  int repeat = 1;
  bool stress = false;
  bool all_modes = false;
  bool list = false;
  bool json = false;
};
Result<int> verify(const VerifyOptions& options);

}  // namespace halyard::inline v0::tools

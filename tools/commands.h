// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subcommands of `halyard`: what each is given, and the function that does it. main.cpp turns a
// command line into these; the help texts there say what each option means.
//
// A command prints its result on stdout, as text or, with `json`, as one JSON object, and answers
// the exit code: kDone, or kFailed where the result itself is bad news. A Status is printed by main
// as one line on stderr (a compiler's diagnostics: as they are), with exit code kFailed.
#pragma once

#include <string>
#include <vector>

#include "halyard/base/result.h"

namespace halyard::inline v0::tools {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // also for a command line that could not be understood

struct DevicesOptions {
  std::string uri;  // empty: what this machine has
  bool json = false;
};
Result<int> devices(const DevicesOptions& options);

// Where compiled sources are kept. `folder` empty: the user's, if there is one and it can be used.
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
  CacheOptions cache;
  bool json = false;
};
Result<int> compile(const CompileOptions& options);

struct InspectOptions {
  std::string file;
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
  std::string items;                      // "X[,Y[,Z]]"; this, the next, or of tensors neither
  std::string groups;                     // the same
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
  std::vector<std::string> program;  // with its arguments; at least one
  bool json = false;
};
// Answers the program's exit code; 128 and the signal if one ended it.
Result<int> trace(const TraceOptions& options);

struct VerifyOptions {
  std::string device = "cpu://";
  std::string filter = "*";
  std::string exclusions;  // a file of them; empty: none but Halyard's own
  int repeat = 1;
  bool stress = false;
  bool all_modes = false;
  bool list = false;
  bool json = false;
};
Result<int> verify(const VerifyOptions& options);

}  // namespace halyard::inline v0::tools

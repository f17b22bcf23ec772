// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the simulated library, from environment variables, which docs/simulated-cuda.md
// describes. Comments here omit the prefix HALYARD_SIM_CUDA_ or HALYARD_SIM_HIP_ of their names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace halyard::inline v0::sim::gpu {

// The failing calls of a function, from FAIL: "name@n=ERROR,...".
struct Fault {
  std::uint64_t call = 0;  // counted from 1; 0: every call
  int result = 0;
};

struct Options {
  int devices = 2;
  std::size_t memory_bytes = std::size_t{4} << 30;  // of each device
  int capability_major = 8;                         // of CUDA
  int capability_minor = 0;
  std::uint64_t seed = 1;
  bool strict = false;                 // misuse is printed when it happens, and kernels are checked
  bool adversarial = false;            // permitted behaviour is chosen by the seed
  bool null = false;                   // kernels, copies and fills do nothing
  unsigned threads = 1;                // that share the blocks of a kernel
  int driver_version = 13000;          // of CUDA
  std::uint64_t host_delay = 0;        // nanoseconds that host functions may be late, by the seed
  std::uint64_t max_instructions = 0;  // per warp; 0: no limit
  std::string report;                  // path; empty: none
  std::multimap<std::string, Fault, std::less<>> faults;
};

// Reads the environment at the first call. A malformed variable is named on stderr and ignored.
Options read_options();
// For the variables that only one library has; `name` omits the prefix. variable() returns the
// text, or null. read_number() reads a number with an optional suffix K, M or G, and complains if
// it is out of range. complain() reports that the value is ignored.
const char* variable(std::string_view name);
void read_number(std::string_view name, std::uint64_t& number, std::uint64_t least,
                 std::uint64_t most);
void complain(std::string_view name, std::string_view value);
inline Options& options_of_process() {
  static Options* const read_once = new Options(read_options());  // outlives the threads
  return *read_once;
}
inline const Options& options() { return options_of_process(); }

// The value of a result, given by the library's name for it or as a number; -1 if unknown.
int result_from_name(std::string_view name);

// A number that depends on the seed and its arguments only, below `limit`.
std::uint64_t choose(std::uint64_t a, std::uint64_t b, std::uint64_t limit);

}  // namespace halyard::inline v0::sim::gpu

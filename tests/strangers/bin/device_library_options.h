// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants that AMD's device libraries read, as a compiler for gfx1100 defines them: "OCLC" in
// https://github.com/ROCm/llvm-project/blob/amd-staging/amd/device-libs/doc/OCML.md.
#define OPTION(type, name, value) \
  extern "C" __attribute__((constant, weak, visibility("hidden"))) const type __oclc_##name = value;
OPTION(int, ISA_version, 11000)
OPTION(int, ABI_version, 500)
OPTION(bool, daz_opt, false)
OPTION(bool, finite_only_opt, false)
OPTION(bool, unsafe_math_opt, false)
OPTION(bool, correctly_rounded_sqrt32, true)
OPTION(bool, wavefrontsize64, false)
#undef OPTION

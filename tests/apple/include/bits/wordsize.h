// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a target with 64 bits that is none of glibc's: its own header takes that for x86 with 32.
#define __WORDSIZE 64
#define __WORDSIZE_TIME64_COMPAT32 0

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Apple's sample "Performing Calculations on a GPU" gets the functions of C only from this header.
#import <Metal/Metal.h>

extern "C" int metal_header_brings_c() {
  char text[32];
  snprintf(text, sizeof(text), "%.1f %d", fabs(-2.5), RAND_MAX > 0);
  assert(strlen(text) == 5);
  return memcmp(text, "2.5 1", 6) == 0 && isdigit('7') != 0 && INT_MAX > 0 ? 1 : 0;
}

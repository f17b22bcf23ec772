// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Last part of each compiled library: the calls that clang inserts for -fsanitize=thread (each
// access to memory) and -fsanitize-coverage=trace-pc (each basic block), and those of
// `metal_stdlib`, passed on to the executor. They find the thread's state below the stack. C, after
// the text of abi.h.
typedef unsigned char uchar;
typedef unsigned int uint;
typedef unsigned long ulong;
#define __HY_RAW __attribute__((noinline, visibility("hidden")))
#define __HY_SITE ((ulong)__builtin_return_address(0))

static inline struct __hy_state* __hy_self(void) {
  ulong stack;
#if defined(__aarch64__)
  __asm__("mov %0, sp" : "=r"(stack));
#else
  __asm__("movq %%rsp, %0" : "=r"(stack));
#endif
  return (struct __hy_state*)(stack & ~(__HY_STACK_SIZE - 1));
}

static inline void __hy_look(ulong address, ulong size, int write, ulong site) {
  struct __hy_state* const self = __hy_self();
  const ulong stack = (ulong)self;
  if (address >= stack && address < stack + __HY_STACK_SIZE) return;
  if (address >= self->range_begin && address + size <= self->range_end) return;
  self->host->access(self, address, size, write, site);
}
__HY_RAW void __sanitizer_cov_trace_pc(void) {
  struct __hy_state* const self = __hy_self();
  if (--self->quantum < 0) self->host->step(self);
}
#define __HY_TSAN(SIZE)                                                                          \
  __HY_RAW void __tsan_read##SIZE(ulong p) { __hy_look(p, SIZE, 0, __HY_SITE); }                 \
  __HY_RAW void __tsan_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); }                \
  __HY_RAW void __tsan_unaligned_read##SIZE(ulong p) { __hy_look(p, SIZE, 0, __HY_SITE); }       \
  __HY_RAW void __tsan_unaligned_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); }      \
  __HY_RAW void __tsan_read_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); }           \
  __HY_RAW void __tsan_unaligned_read_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); } \
  __HY_RAW void __tsan_volatile_read##SIZE(ulong p) { __hy_look(p, SIZE, 0, __HY_SITE); }        \
  __HY_RAW void __tsan_volatile_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); }       \
  __HY_RAW void __tsan_unaligned_volatile_read##SIZE(ulong p) { __hy_look(p, SIZE, 0, __HY_SITE); } \
  __HY_RAW void __tsan_unaligned_volatile_write##SIZE(ulong p) { __hy_look(p, SIZE, 1, __HY_SITE); }
__HY_TSAN(1)
__HY_TSAN(2)
__HY_TSAN(4)
__HY_TSAN(8)
__HY_TSAN(16)
__HY_RAW void __tsan_init(void) {}
__HY_RAW void __tsan_func_entry(ulong pc) {}
__HY_RAW void __tsan_func_exit(void) {}
__HY_RAW void __tsan_vptr_update(ulong p, ulong v) {}
__HY_RAW void __tsan_vptr_read(ulong p) {}
__HY_RAW ulong __tsan_memcpy(ulong to, ulong from, ulong size) {
  if (size != 0) {
    __hy_look(from, size, 0, __HY_SITE);
    __hy_look(to, size, 1, __HY_SITE);
    __builtin_memcpy((char*)to, (char*)from, size);
  }
  return to;
}
__HY_RAW ulong __tsan_memmove(ulong to, ulong from, ulong size) {
  if (size != 0) {
    __hy_look(from, size, 0, __HY_SITE);
    __hy_look(to, size, 1, __HY_SITE);
    __builtin_memmove((char*)to, (char*)from, size);
  }
  return to;
}
__HY_RAW ulong __tsan_memset(ulong to, int value, ulong size) {
  if (size != 0) {
    __hy_look(to, size, 1, __HY_SITE);
    __builtin_memset((char*)to, value, size);
  }
  return to;
}

__HY_RAW void __hy_barrier(uint flags, int scope) {
  struct __hy_state* const self = __hy_self();
  self->host->barrier(self, flags, scope, __HY_SITE);
}
__HY_RAW void __hy_fence(uint flags, int scope) {
  struct __hy_state* const self = __hy_self();
  self->host->fence(self, flags, scope);
}
__HY_RAW void __hy_atomic(ulong address, uint size, int write) {
  struct __hy_state* const self = __hy_self();
  self->host->atomic(self, address, size, write, __HY_SITE);
}
__HY_RAW int __hy_exchange_fails(void) {
  struct __hy_state* const self = __hy_self();
  return self->host->exchange_fails(self);
}
__HY_RAW ulong __hy_exchange(ulong value, uint size, uint width, ulong mask) {
  struct __hy_state* const self = __hy_self();
  return self->host->exchange(self, value, size, width, __HY_SITE, mask);
}
__HY_RAW void __hy_inactive(uint lane) {
  struct __hy_state* const self = __hy_self();
  self->host->inactive(self, lane, __HY_SITE);
}
// Accesses to the executor's memory, which the checks do not know.
__HY_RAW void __hy_copy(ulong to, ulong from, uint size) {
  if (size == 4)
    *(uint*)to = *(const uint*)from;
  else
    __builtin_memcpy((char*)to, (const char*)from, size);
}
__HY_RAW uint __hy_lane(void) { return __hy_self()->lane; }
__HY_RAW uint __hy_width(void) { return __hy_self()->width; }
__HY_RAW ulong __hy_variable_at(ulong key, uint size, uint alignment) {
  struct __hy_state* const self = __hy_self();
  return self->host->variable(self, key, size, alignment);
}
// A runtime library of a compiler from before 2023 lacks this (libgcc has it from version 13 on).
// Rounds to the nearest, of two equally near ones to the even.
__HY_RAW __attribute__((weak)) __bf16 __truncsfbf2(float x) {
  uint bits;
  __builtin_memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    bits |= 0x00400000u;
  else
    bits += 0x7fffu + (bits >> 16 & 1);
  const unsigned short half = (unsigned short)(bits >> 16);
  __bf16 result;
  __builtin_memcpy(&result, &half, 2);
  return result;
}

// Records of `threadgroup` variables: {id, size, alignment} each.
extern const uint __start_hy_variables[] __attribute__((weak, visibility("hidden")));
extern const uint __stop_hy_variables[] __attribute__((weak, visibility("hidden")));
__attribute__((visibility("default"))) void __hy_variables(const uint** begin, const uint** end) {
  *begin = __start_hy_variables;
  *end = __stop_hy_variables;
}

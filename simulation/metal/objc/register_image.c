// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked into every program and library that has Objective-C code: hands its classes to the runtime
// before its C++ initializers run, which may use them. The linker defines the symbols where a section of
// that name exists.

typedef void* Entry;
#define HALYARD_OBJC_SECTION(name)                                               \
  extern Entry __start_##name[] __attribute__((weak, visibility("hidden")));     \
  extern Entry __stop_##name[] __attribute__((weak, visibility("hidden")))
HALYARD_OBJC_SECTION(objc_classlist);
HALYARD_OBJC_SECTION(objc_catlist);
HALYARD_OBJC_SECTION(objc_selrefs);
HALYARD_OBJC_SECTION(objc_protolist);
HALYARD_OBJC_SECTION(objc_protorefs);

__attribute__((visibility("default"))) extern void halyard_objc_register_image(Entry* lists[10]);

__attribute__((constructor(101))) static void register_image(void) {
  Entry* lists[10] = {__start_objc_classlist, __stop_objc_classlist, __start_objc_catlist,
                      __stop_objc_catlist,    __start_objc_selrefs,  __stop_objc_selrefs,
                      __start_objc_protolist, __stop_objc_protolist, __start_objc_protorefs,
                      __stop_objc_protorefs};
  halyard_objc_register_image(lists);
}

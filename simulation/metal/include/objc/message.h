// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions by which a message is sent. A caller casts them to the type of the method: receiver,
// selector, then the arguments. A message to nil returns zero. A message without a method goes to
// doesNotRecognizeSelector: of the receiver. Safe from any thread.
//
// Apple's ABI for x86-64: methods that return a struct in memory are called through the _stret
// form, and methods that return a long double through the _fpret form.
#pragma once

#include <objc/objc.h>

struct objc_super {
  id receiver;
  Class super_class;
};

OBJC_EXPORT void objc_msgSend(void);
OBJC_EXPORT void objc_msgSend_stret(void);
OBJC_EXPORT void objc_msgSend_fpret(void);
OBJC_EXPORT void objc_msgSend_fp2ret(void);
// `super_class` of the struct is the class to start the search in.
OBJC_EXPORT void objc_msgSendSuper(void);
OBJC_EXPORT void objc_msgSendSuper_stret(void);
// `super_class` of the struct is the class of the calling method; the search starts in its
// superclass. The compiler calls this form.
OBJC_EXPORT void objc_msgSendSuper2(void);
OBJC_EXPORT void objc_msgSendSuper2_stret(void);

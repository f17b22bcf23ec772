// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The basic types of Objective-C: objects, classes, selectors and booleans.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define OBJC_EXTERN extern "C"
#else
#define OBJC_EXTERN extern
#endif
#define OBJC_EXPORT OBJC_EXTERN __attribute__((visibility("default")))

#ifndef __OBJC__
typedef struct objc_class* Class;
struct objc_object {
  Class isa;
};
typedef struct objc_object* id;
typedef struct objc_selector* SEL;
#endif

typedef void (*IMP)(void);

// A boolean of Apple's ABI for x86-64: one signed byte.
#ifndef OBJC_BOOL_DEFINED
#define OBJC_BOOL_DEFINED
typedef signed char BOOL;
#endif

#ifdef __OBJC__
#define YES __objc_yes
#define NO __objc_no
#else
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#endif

#ifndef Nil
#ifdef __cplusplus
#define Nil nullptr
#else
#define Nil ((void*)0)
#endif
#endif
#ifndef nil
#ifdef __cplusplus
#define nil nullptr
#else
#define nil ((void*)0)
#endif
#endif

// Safe from any thread. Equal names give equal selectors in the whole process.
OBJC_EXPORT SEL sel_registerName(const char* name);
OBJC_EXPORT SEL sel_getUid(const char* name);
OBJC_EXPORT const char* sel_getName(SEL selector);
OBJC_EXPORT const char* object_getClassName(id object);

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process and the machine. The version of the system is that of the simulated one.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <time.h>

#import <Foundation/Foundation.h>
#import <Foundation/NSProcessInfo.h>

extern char** environ;

@implementation NSProcessInfo {
  NSString* name_;
}
+ (NSProcessInfo*)processInfo {
  static NSProcessInfo* const only = [[NSProcessInfo alloc] init];
  return only;
}
- (NSDictionary*)environment {
  NSMutableDictionary* const all = [NSMutableDictionary dictionary];
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text(*one);
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    NSString* const value = [NSString stringWithUTF8String:text.c_str() + equals + 1];
    NSString* const key = [NSString stringWithUTF8String:text.substr(0, equals).c_str()];
    if (key != nil && value != nil) [all setObject:value forKey:key];
  }
  return all;
}
- (NSArray*)arguments {
  NSMutableArray* const all = [NSMutableArray array];
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string one; std::getline(file, one, '\0');) {
    NSString* const argument = [NSString stringWithUTF8String:one.c_str()];
    if (argument != nil) [all addObject:argument];
  }
  return all;
}
- (NSString*)hostName {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return [NSString stringWithUTF8String:name];
}
- (NSString*)processName {
  @synchronized(self) {
    if (name_ != nil) return [[name_ retain] autorelease];
  }
  return [[[self arguments] firstObject] lastPathComponent];
}
- (void)setProcessName:(NSString*)name {
  @synchronized(self) {
    [name_ release];
    name_ = [name copy];
  }
}
- (int)processIdentifier {
  return getpid();
}
- (NSString*)globallyUniqueString {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string text;
  std::getline(file, text);
  return [NSString stringWithUTF8String:text.c_str()];
}
- (NSOperatingSystemVersion)operatingSystemVersion {
  NSOperatingSystemVersion version = {15, 0, 0};
  if (const char* const text = std::getenv("HALYARD_SIM_METAL_OS_VERSION")) {
    version = {0, 0, 0};
    std::sscanf(text, "%ld.%ld.%ld", &version.majorVersion, &version.minorVersion,
                &version.patchVersion);
  }
  return version;
}
- (NSString*)operatingSystemVersionString {
  const NSOperatingSystemVersion version = [self operatingSystemVersion];
  return [NSString stringWithFormat:@"Version %ld.%ld.%ld (simulated)", version.majorVersion,
                                    version.minorVersion, version.patchVersion];
}
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)least {
  const NSOperatingSystemVersion version = [self operatingSystemVersion];
  if (version.majorVersion != least.majorVersion) return version.majorVersion > least.majorVersion;
  if (version.minorVersion != least.minorVersion) return version.minorVersion > least.minorVersion;
  return version.patchVersion >= least.patchVersion;
}
- (NSUInteger)processorCount {
  return static_cast<NSUInteger>(sysconf(_SC_NPROCESSORS_CONF));
}
- (NSUInteger)activeProcessorCount {
  return static_cast<NSUInteger>(sysconf(_SC_NPROCESSORS_ONLN));
}
- (unsigned long long)physicalMemory {
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}
- (NSTimeInterval)systemUptime {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
- (NSProcessInfoThermalState)thermalState {
  return NSProcessInfoThermalStateNominal;
}
- (BOOL)isLowPowerModeEnabled {
  return NO;
}
- (id<NSObject>)beginActivityWithOptions:(NSActivityOptions)options reason:(NSString*)reason {
  return [[[NSObject alloc] init] autorelease];
}
- (void)endActivity:(id<NSObject>)activity {
}
@end

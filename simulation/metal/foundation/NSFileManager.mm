// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files by path, over std::filesystem without exceptions; and NSNull.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include <CoreFoundation/CoreFoundation.h>

#import <Foundation/Foundation.h>
#import <Foundation/NSFileManager.h>
#import <Foundation/NSNull.h>

namespace {

namespace fs = std::filesystem;

BOOL report(const std::error_code& code, NSString* path, NSError** error) {
  if (!code) return YES;
  if (error != nullptr) {
    NSString* const text = [NSString
        stringWithFormat:@"%@: %s", path, std::generic_category().message(code.value()).c_str()];
    *error = [NSError
        errorWithDomain:NSPOSIXErrorDomain
                   code:code.value()
               userInfo:[NSDictionary dictionaryWithObject:text forKey:NSLocalizedDescriptionKey]];
  }
  return NO;
}

}  // namespace

@implementation NSFileManager
+ (NSFileManager*)defaultManager {
  static NSFileManager* const only = [[NSFileManager alloc] init];
  return only;
}
- (BOOL)fileExistsAtPath:(NSString*)path {
  return [self fileExistsAtPath:path isDirectory:nullptr];
}
- (BOOL)fileExistsAtPath:(NSString*)path isDirectory:(BOOL*)is_directory {
  if (path == nil) return NO;
  std::error_code code;
  const fs::file_status status = fs::status([path UTF8String], code);
  if (!fs::exists(status)) return NO;
  if (is_directory != nullptr) *is_directory = fs::is_directory(status);
  return YES;
}
- (BOOL)isReadableFileAtPath:(NSString*)path {
  return path != nil && access([path UTF8String], R_OK) == 0;
}
- (BOOL)removeItemAtPath:(NSString*)path error:(NSError**)error {
  std::error_code code;
  if (fs::remove_all([path UTF8String], code) == 0 && !code) {
    code = std::make_error_code(std::errc::no_such_file_or_directory);
  }
  return report(code, path, error);
}
- (BOOL)removeItemAtURL:(NSURL*)url error:(NSError**)error {
  return [self removeItemAtPath:[url path] error:error];
}
- (BOOL)createDirectoryAtPath:(NSString*)path
    withIntermediateDirectories:(BOOL)intermediate
                     attributes:(NSDictionary*)attributes
                          error:(NSError**)error {
  std::error_code code;
  if (intermediate) {
    fs::create_directories([path UTF8String], code);
  } else if (!fs::create_directory([path UTF8String], code) && !code) {
    code = std::make_error_code(std::errc::file_exists);
  }
  return report(code, path, error);
}
- (NSString*)destinationOfSymbolicLinkAtPath:(NSString*)path error:(NSError**)error {
  std::error_code code;
  const fs::path target = fs::read_symlink([path UTF8String], code);
  if (!report(code, path, error)) return nil;
  return [NSString stringWithUTF8String:target.c_str()];
}
- (NSString*)currentDirectoryPath {
  std::error_code code;
  return [NSString stringWithUTF8String:fs::current_path(code).c_str()];
}
@end

@implementation NSNull
+ (NSNull*)null {
  static NSNull* const only = [[NSNull alloc] init];
  return only;
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (NSString*)description {
  return @"<null>";
}
@end

// An object of CoreFoundation is one of Foundation.
extern "C" CFTypeRef CFRetain(CFTypeRef object) {
  return [static_cast<id>(const_cast<void*>(object)) retain];
}
extern "C" void CFRelease(CFTypeRef object) {
  [static_cast<id>(const_cast<void*>(object)) release];
}
extern "C" CFIndex CFGetRetainCount(CFTypeRef object) {
  return static_cast<CFIndex>([static_cast<id>(const_cast<void*>(object)) retainCount]);
}
extern "C" CFHashCode CFHash(CFTypeRef object) {
  return [static_cast<id>(const_cast<void*>(object)) hash];
}
extern "C" Boolean CFEqual(CFTypeRef first, CFTypeRef second) {
  return [static_cast<id>(const_cast<void*>(first))
             isEqual:static_cast<id>(const_cast<void*>(second))] != NO;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NSData, NSURL and NSBundle.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#import <Foundation/Foundation.h>

@implementation NSData {
  void* bytes_;
  NSUInteger length_;
  BOOL is_freed_;
}
+ (instancetype)data {
  return [[[self alloc] initWithBytes:nullptr length:0] autorelease];
}
+ (instancetype)dataWithBytes:(const void*)bytes length:(NSUInteger)length {
  return [[[self alloc] initWithBytes:bytes length:length] autorelease];
}
+ (instancetype)dataWithBytesNoCopy:(void*)bytes length:(NSUInteger)length freeWhenDone:(BOOL)freed {
  return [[[self alloc] initWithBytesNoCopy:bytes length:length freeWhenDone:freed] autorelease];
}
+ (instancetype)dataWithContentsOfFile:(NSString*)path {
  std::ifstream file([path UTF8String], std::ios::binary);
  if (!file) return nil;
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  return [self dataWithBytes:bytes.data() length:bytes.size()];
}
+ (instancetype)dataWithContentsOfURL:(NSURL*)url {
  return [self dataWithContentsOfFile:[url path]];
}
- (instancetype)initWithBytes:(const void*)bytes length:(NSUInteger)length {
  void* const copy = std::malloc(length != 0 ? length : 1);
  if (length != 0) std::memcpy(copy, bytes, length);
  return [self initWithBytesNoCopy:copy length:length freeWhenDone:YES];
}
- (instancetype)initWithBytesNoCopy:(void*)bytes length:(NSUInteger)length freeWhenDone:(BOOL)freed {
  bytes_ = bytes;
  length_ = length;
  is_freed_ = freed;
  return self;
}
- (void)dealloc {
  if (is_freed_) std::free(bytes_);
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (NSUInteger)length {
  return length_;
}
- (const void*)bytes {
  return bytes_;
}
- (void)getBytes:(void*)buffer length:(NSUInteger)length {
  std::memcpy(buffer, bytes_, length < length_ ? length : length_);
}
- (BOOL)isEqualToData:(NSData*)data {
  return length_ == [data length] && std::memcmp(bytes_, [data bytes], length_) == 0;
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSData class]] && [self isEqualToData:object];
}
- (NSUInteger)hash {
  return length_;
}
- (BOOL)writeToFile:(NSString*)path atomically:(BOOL)atomically {
  const std::string target = [path UTF8String], draft = atomically ? target + ".draft" : target;
  {
    std::ofstream file(draft, std::ios::binary);
    file.write(static_cast<const char*>(bytes_), static_cast<std::streamsize>(length_));
    if (!file.flush()) return NO;
  }
  return !atomically || std::rename(draft.c_str(), target.c_str()) == 0;
}
@end

@implementation NSURL {
  NSString* path_;
}
+ (NSURL*)fileURLWithPath:(NSString*)path {
  return [[[self alloc] initFileURLWithPath:path] autorelease];
}
+ (NSURL*)fileURLWithPath:(NSString*)path isDirectory:(BOOL)is_folder {
  return [self fileURLWithPath:path];
}
+ (NSURL*)URLWithString:(NSString*)text {
  if (![text hasPrefix:@"file://"]) return nil;
  return [self fileURLWithPath:[NSString stringWithUTF8String:[text UTF8String] + 7]];
}
- (instancetype)initFileURLWithPath:(NSString*)path {
  path_ = [path copy];
  return self;
}
- (void)dealloc {
  [path_ release];
  [super dealloc];
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
- (NSString*)path {
  return path_;
}
- (NSString*)absoluteString {
  return [@"file://" stringByAppendingString:path_];
}
- (NSString*)description {
  return [self absoluteString];
}
- (const char*)fileSystemRepresentation {
  return [path_ UTF8String];
}
- (BOOL)isFileURL {
  return YES;
}
- (NSURL*)URLByAppendingPathComponent:(NSString*)name {
  return [NSURL fileURLWithPath:[path_ stringByAppendingPathComponent:name]];
}
- (BOOL)isEqual:(id)object {
  return [object isKindOfClass:[NSURL class]] && [path_ isEqualToString:[object path]];
}
- (NSUInteger)hash {
  return [path_ hash];
}
@end

@implementation NSBundle {
  NSString* path_;
}
+ (NSBundle*)mainBundle {
  static NSBundle* const main = [] {
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    const std::string file(path, size > 0 ? static_cast<std::size_t>(size) : 0);
    NSBundle* const made = [NSBundle new];
    made->path_ = [[NSString alloc] initWithUTF8String:file.substr(0, file.rfind('/')).c_str()];
    return made;
  }();
  return main;
}
+ (NSBundle*)bundleForClass:(Class)of {
  return [self mainBundle];
}
- (NSString*)bundlePath {
  return path_;
}
- (NSString*)resourcePath {
  return path_;
}
- (NSString*)bundleIdentifier {
  return nil;
}
- (NSString*)pathForResource:(NSString*)name ofType:(NSString*)extension {
  NSString* const file = [extension length] != 0 ? [name stringByAppendingFormat:@".%@", extension] : name;
  NSString* const path = [path_ stringByAppendingPathComponent:file];
  return access([path UTF8String], R_OK) == 0 ? path : nil;
}
@end

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings, errors, and the core objects of a program's objects.
#include <functional>

#include "simulation/metal/framework/device_objects.h"

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";
NSErrorDomain const MTLBinaryArchiveDomain = @"MTLBinaryArchiveDomain";
NSErrorDomain const MTLCaptureErrorDomain = @"MTLCaptureErrorDomain";
NSErrorDomain const MTLCounterErrorDomain = @"MTLCounterErrorDomain";
NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey =
    @"MTLCommandBufferEncoderInfoErrorKey";
MTLCommonCounter const MTLCommonCounterTimestamp = @"GPUTimestamp";
MTLCommonCounterSet const MTLCommonCounterSetTimestamp = @"timestamp";
MTLDeviceNotificationName const MTLDeviceWasAddedNotification = @"MTLDeviceWasAddedNotification";
MTLDeviceNotificationName const MTLDeviceRemovalRequestedNotification =
    @"MTLDeviceRemovalRequestedNotification";
MTLDeviceNotificationName const MTLDeviceWasRemovedNotification =
    @"MTLDeviceWasRemovedNotification";

@implementation SimulatedMetalObject
- (void)dealloc {
  [label_ release];
  // As Apple's buffer does (llama.cpp#27883), so a program that releases an object needs a pool.
  [[device_ retain] autorelease];
  [device_ release];
  [super dealloc];
}
- (NSString*)label {
  return label_;
}
- (id<MTLDevice>)device {
  return device_;
}
@end

@implementation SimulatedMetalLabelled
- (void)setLabel:(NSString*)label {
  if (label == label_) return;
  [label_ release];
  label_ = [label copy];
}
@end

namespace halyard::inline v0::sim::metal {

NSString* string(const std::string& text) { return [NSString stringWithUTF8String:text.c_str()]; }

std::string text(NSString* string) {
  const char* const bytes = [string UTF8String];
  return bytes == nullptr ? std::string() : std::string(bytes);
}

const ResourcePointer& resource_of(id object) {
  static const ResourcePointer* const none = new ResourcePointer;
  return object == nil ? *none : static_cast<SimulatedMetalResource*>(object)->resource_;
}

std::shared_ptr<Event> event_of(id object) {
  if ([object isKindOfClass:[SimulatedMetalSharedEvent class]]) {
    return static_cast<SimulatedMetalSharedEvent*>(object)->event_;
  }
  return static_cast<SimulatedMetalEvent*>(object)->event_;
}

namespace {

NSError* make_error(NSString* domain, NSInteger code, const std::string& description,
                    NSDictionary* more) {
  NSMutableDictionary* const information = [NSMutableDictionary dictionary];
  if (more != nil) [information addEntriesFromDictionary:more];
  [information setObject:string(description) forKey:NSLocalizedDescriptionKey];
  return [NSError errorWithDomain:domain code:code userInfo:information];
}

}  // namespace

NSError* error_of(const Error& error, NSDictionary* information) {
  return make_error(MTLCommandBufferErrorDomain, static_cast<NSInteger>(error.code), error.text,
                    information);
}
NSError* library_error(NSInteger code, const std::string& description) {
  return make_error(MTLLibraryErrorDomain, code, description, nil);
}
NSError* archive_error(NSInteger code, const std::string& description) {
  return make_error(MTLBinaryArchiveDomain, code, description, nil);
}
NSError* capture_error(NSInteger code, const std::string& description) {
  return make_error(MTLCaptureErrorDomain, code, description, nil);
}
void set_error(NSError** place, NSError* error) {
  if (place != nullptr) *place = error;
}

std::string archive_key(SimulatedMetalFunction* function) {
  return std::to_string(function->source_key_) + " " + function->function_->info().name;
}

}  // namespace halyard::inline v0::sim::metal

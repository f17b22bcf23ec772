// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the cost of calls that do nothing on a device.
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <chrono>
#include <cstdio>

namespace {

template <class Call>
void measure(const char* what, Call call) {
  constexpr int kCount = 20000, kBatch = 32;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCount; i += kBatch) {
    NSAutoreleasePool* const pool = [[NSAutoreleasePool alloc] init];
    for (int j = 0; j < kBatch; ++j) call();
    [pool release];
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  std::printf("%-42s %8.2f us\n", what, took.count() / kCount);
}

}  // namespace

int main() {
  NSAutoreleasePool* const pool = [[NSAutoreleasePool alloc] init];
  id<MTLDevice> const device = MTLCreateSystemDefaultDevice();
  id<MTLCommandQueue> const queue = [device newCommandQueue];
  id<MTLSharedEvent> const event = [device newSharedEvent];
  std::uint64_t value = 0;
  measure("message", [&] { (void)[event signaledValue]; });
  measure("buffer of 4096 bytes", [&] {
    [[device newBufferWithLength:4096 options:MTLResourceStorageModeShared] release];
  });
  measure("empty command buffer, submitted", [&] { [[queue commandBuffer] commit]; });
  measure("the same, with a wait and a signal", [&] {
    id<MTLCommandBuffer> const commands = [queue commandBuffer];
    [commands encodeWaitForEvent:event value:value];
    [commands encodeSignalEvent:event value:++value];
    [commands commit];
  });
  measure("the same, waited for", [&] {
    id<MTLCommandBuffer> const commands = [queue commandBuffer];
    [commands commit];
    [commands waitUntilCompleted];
  });
  measure("the same, with a handler, waited for", [&] {
    id<MTLCommandBuffer> const commands = [queue commandBuffer];
    [commands addCompletedHandler:^(id<MTLCommandBuffer>){
    }];
    [commands commit];
    [commands waitUntilCompleted];
  });
  [event release];
  [queue release];
  [device release];
  [pool release];
}

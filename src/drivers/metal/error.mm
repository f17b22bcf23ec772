// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers/metal/error.h"

#include "base/format.h"

namespace halyard::inline v0::metal {
namespace {

struct Named {
  std::int64_t code;
  const char* name;
};

// Public values: https://developer.apple.com/documentation/metal/mtlcommandbuffererror
constexpr Named kBufferErrors[] = {
    {0, "MTLCommandBufferErrorNone"},           {1, "MTLCommandBufferErrorInternal"},
    {2, "MTLCommandBufferErrorTimeout"},        {3, "MTLCommandBufferErrorPageFault"},
    {4, "MTLCommandBufferErrorAccessRevoked"},  {7, "MTLCommandBufferErrorNotPermitted"},
    {8, "MTLCommandBufferErrorOutOfMemory"},    {9, "MTLCommandBufferErrorInvalidResource"},
    {10, "MTLCommandBufferErrorMemoryless"},    {11, "MTLCommandBufferErrorDeviceRemoved"},
    {12, "MTLCommandBufferErrorStackOverflow"},
};
constexpr std::int64_t kAccessRevoked = 4, kDeviceRemoved = 11;

// Domain and code, which search engines find.
std::string native_name(NSError* error) {
  if (error == nil) return {};
  const char* const domain = [[error domain] UTF8String];
  return base::format("{} {}", domain != nullptr ? domain : "NSError",
                      static_cast<std::int64_t>([error code]));
}

}  // namespace

std::string name_of_buffer_error(std::int64_t code) {
  for (const Named& named : kBufferErrors) {
    if (named.code == code) return named.name;
  }
  return base::format("MTLCommandBufferError {}", code);
}

std::string text_of(NSError* error) {
  const char* const text = [[error localizedDescription] UTF8String];
  return text != nullptr ? text : std::string();
}

Status failed(const char* call, NSError* error, StatusCode code) {
  const std::string text = text_of(error);
  return Status(code, base::format("metal: {} failed{}{}", call, text.empty() ? "" : ": ", text),
                native_name(error));
}

Status fault(NSError* error) {
  const std::string text = text_of(error);
  const std::int64_t code = error != nil ? static_cast<std::int64_t>([error code]) : 0;
  return Status(StatusCode::kDeviceLost,
                base::format("metal: a command buffer failed{}{}", text.empty() ? "" : ": ", text),
                name_of_buffer_error(code));
}

bool is_final(NSError* error) noexcept {
  return error != nil && ([error code] == kAccessRevoked || [error code] == kDeviceRemoved);
}

}  // namespace halyard::inline v0::metal

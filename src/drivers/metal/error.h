// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of Metal as a Status: the failed call, Metal's own text, and the native name.
#pragma once

#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <cstdint>
#include <string>

#include "halyard/base/status.h"

namespace halyard::inline v0::metal {

// For example "MTLCommandBufferErrorPageFault"; an unknown code as its number. The codes are those
// of https://developer.apple.com/documentation/metal/mtlcommandbuffererror-swift.struct/code
std::string name_of_buffer_error(std::int64_t code);

// Metal's description, in UTF-8; empty without an error.
std::string text_of(NSError* error);

// The failure of `call`, which returned nil. `error` may be nil, as most calls have no error.
[[nodiscard]] Status failed(const char* call, NSError* error,
                            StatusCode code = StatusCode::kResourceExhausted);

// The loss of a device whose command buffer ended with `error`, which may be nil.
[[nodiscard]] Status fault(NSError* error);

// True if the device will run no more work of this process: it was removed, or Metal ignores all
// submissions (MTLCommandBufferErrorAccessRevoked).
bool is_final(NSError* error) noexcept;

}  // namespace halyard::inline v0::metal

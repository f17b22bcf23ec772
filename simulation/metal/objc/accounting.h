// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of the runtime (objects created and destroyed, by class) and detected misuse (messages to
// destroyed objects, releases beyond the last, objects autoreleased without a pool).
//
// Any thread may call any function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::inline v0::sim::objc {

struct Count {
  std::string class_name;
  std::int64_t created = 0;
  std::int64_t destroyed = 0;
};
// The counts of each class that ever had an instance, by name.
std::vector<Count> counts();

enum class Misuse : std::uint8_t {
  kMessageToDestroyed,  // "message -[C m] to a destroyed object"
  kOverRelease,         // a release of an object whose count is 0
  kMissingPool,         // autoreleased without a pool: never released
  kUnrecognized,        // a message without a method; the process then ends
};
std::string_view name_of(Misuse misuse);

// Called with each misuse, on the thread that caused it. Without a handler, misuse is written to
// stderr. The handler must not send messages.
using MisuseHandler = void (*)(Misuse misuse, const std::string& text);
void set_misuse_handler(MisuseHandler handler);
void report(Misuse misuse, const std::string& text);

// Sets how many destroyed objects keep their memory, so that a later message is detected; 0 means
// none. The oldest are freed first. The default is 65,536.
void set_zombies(std::size_t count);

}  // namespace halyard::inline v0::sim::objc

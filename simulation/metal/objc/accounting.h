// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime counts and notices: objects created and destroyed, by class; messages to destroyed
// objects; releases beyond the last; objects autoreleased where no pool is.
//
// Any thread may call any of it.
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
// Of each class that ever had an instance, by name.
std::vector<Count> counts();

enum class Misuse : std::uint8_t {
  kMessageToDestroyed,  // "message -[C m] to a destroyed object"
  kOverRelease,         // a release of an object whose count is 0
  kMissingPool,         // autoreleased where no pool is: the object is never released
  kUnrecognized,        // a message that the class has no method for; the process ends behind it
};
std::string_view name_of(Misuse misuse);

// Is called with what is noticed, on the thread that did it; null: it is written to stderr. The handler
// must not send messages.
using MisuseHandler = void (*)(Misuse misuse, const std::string& text);
void set_misuse_handler(MisuseHandler handler);
void report(Misuse misuse, const std::string& text);

// Destroyed objects whose memory is kept, so that a later message is noticed. 0: none. The oldest go
// first. 65,536 at the start.
void set_zombies(std::size_t count);

}  // namespace halyard::inline v0::sim::objc

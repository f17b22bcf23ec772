// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What async and the pools below it do not hold yet, so that programs of async leave it out, or do
// not ask for it. Who mends it sets it to true, and the simulation looks.
#pragma once

namespace halyard::inline v0::sim {

// An allocation that there is no memory for fails. Today it waits for every deallocation that was
// submitted, also for those that wait for it (timelines.md, rule 30).
inline constexpr bool kExhaustionEnds = false;

}  // namespace halyard::inline v0::sim

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stall: whether what gates hold back can ever go on (rule 30).
//
//     held allocation ── signals ──> parked ── signals ──> parked deallocation
//            └───────────────── waits for the memory ──────────────┘
//
// Who waits for v or more waits for the submission that will signal v: nobody else may bring the
// value so far before. So a resource has stalled when all that will give some of it back stands,
// over any number of such steps, behind submissions that are held back for want of it, or of
// another resource that has stalled.
//
// A snapshot of everything that is not issued: by number, so nothing is kept. What one shows stays
// as it is while nothing is taken of the resources in question; Gate::Claim's versions say whether.
#pragma once

#include <cstdint>

#include "base/array.h"
#include "timeline/gate.h"

namespace halyard::inline v0::timeline {

class Submission;

class Stall {
 public:
  // Under its queue's lock. Precondition: it is not issued.
  void add(Submission& submission);

  // Once, when all are added. False where there is no memory to find out.
  bool has_stalled(const void* resource);

  struct Version {
    const void* resource;
    std::uint64_t version;
    bool operator==(const Version&) const = default;
  };
  // Of the resources that submissions are held back for. False: no memory.
  [[nodiscard]] bool versions(base::Array<Version>& out) const;

 private:
  struct Wait {
    std::uint64_t semaphore, value;
    std::size_t node;
    auto operator<=>(const Wait&) const = default;
  };
  struct Signal {
    std::uint64_t semaphore, value;
  };
  // The waits for one semaphore: [begin, end) of them, and from where on they are blocked.
  struct Waits {
    std::uint64_t semaphore;
    std::size_t begin, end, blocked;
  };
  struct Node {
    Gate::Claim claim;
    std::size_t first_signal = 0;  // up to the next one's
    bool blocked = false;
  };
  struct Resource {
    const void* resource;
    std::uint64_t returns;      // submitted, and not ended
    std::uint64_t blocked = 0;  // of these
    bool stalled = true;
  };
  void sort_waits();
  void block(std::size_t node);
  void block_behind(const Signal& signal);
  void block_behind_stalled();
  bool free_what_comes_back();
  Resource* find(const void* resource);  // among resources_, which are few

  base::Array<Node> nodes_;
  base::Array<Wait> waits_;        // sorted by has_stalled()
  base::Array<Waits> semaphores_;  // likewise
  base::Array<Signal> signals_;
  base::Array<Resource> resources_;
  base::Array<std::size_t> to_do_;  // with room for all
  bool whole_ = true;               // there was memory for everything
};

}  // namespace halyard::inline v0::timeline

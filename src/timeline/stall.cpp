// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timeline/stall.h"

#include <algorithm>

#include "timeline/engine.h"
#include "timeline/submission.h"

namespace halyard::inline v0::timeline {

void Stall::add(Submission& submission) {
  const Submission::State state = submission.state();
  // What ends already holds nobody up. What is being issued: the submission that asks.
  if (state != Submission::State::kParked && state != Submission::State::kIssuing) return;
  Node node{.claim = {}, .first_signal = signals_.size()};
  if (submission.gate_ != nullptr && submission.gate_->claim != nullptr) {
    node.claim = submission.gate_->claim(submission.payload_);
  }
  for (std::uint32_t i = 0; i < submission.wait_count_; ++i) {
    const WaitNode& wait = submission.waits_[i];
    whole_ &= waits_.push_back({wait.semaphore->id(), wait.key, nodes_.size()});
  }
  for (std::uint32_t i = 0; i < submission.signal_count_; ++i) {
    const SignalNode& signal = submission.signals_[i];
    whole_ &= signals_.push_back({signal.semaphore->id(), signal.key});
  }
  whole_ &= nodes_.push_back(node);
}

bool Stall::versions(base::Array<Version>& out) const {
  bool whole = whole_;
  for (const Node& node : nodes_) {
    if (node.claim.waits) whole &= out.push_back({node.claim.resource, node.claim.version});
  }
  return whole;
}

bool Stall::has_stalled(const void* resource) {
  whole_ &= nodes_.push_back({.claim = {}, .first_signal = signals_.size()});  // the end
  whole_ &= to_do_.make_room(nodes_.size());
  sort_waits();
  for (const Node& node : nodes_) {
    if (!node.claim.waits) continue;
    if (find(node.claim.resource) == nullptr) {
      whole_ &= resources_.push_back({node.claim.resource, node.claim.returns});
    }
  }
  if (!whole_) return false;
  // The largest set of resources that wait for each other only: all, less what is not in it.
  do {
    block_behind_stalled();
  } while (free_what_comes_back());
  const Resource* const found = find(resource);
  return found != nullptr && found->stalled;
}

Stall::Resource* Stall::find(const void* resource) {
  for (Resource& other : resources_) {
    if (other.resource == resource) return &other;
  }
  return nullptr;
}

void Stall::sort_waits() {
  std::sort(waits_.begin(), waits_.end());
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    if (i == 0 || waits_[i].semaphore != waits_[i - 1].semaphore) {
      whole_ &= semaphores_.push_back({waits_[i].semaphore, i, i, 0});
    }
    if (!whole_) return;
    semaphores_.back().end = i + 1;
  }
}

void Stall::block(std::size_t node) {
  if (nodes_[node].blocked) return;
  nodes_[node].blocked = true;
  (void)to_do_.push_back(node);  // there is room
}

// Each wait is looked at once, however many signals stand before it.
void Stall::block_behind(const Signal& signal) {
  const auto waits = std::lower_bound(
      semaphores_.begin(), semaphores_.end(), signal.semaphore,
      [](const Waits& at, std::uint64_t semaphore) { return at.semaphore < semaphore; });
  if (waits == semaphores_.end() || waits->semaphore != signal.semaphore) return;
  while (waits->blocked > waits->begin && waits_[waits->blocked - 1].value >= signal.value) {
    block(waits_[--waits->blocked].node);
  }
}

void Stall::block_behind_stalled() {
  for (Node& node : nodes_) node.blocked = false;
  for (Waits& waits : semaphores_) waits.blocked = waits.end;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Gate::Claim& claim = nodes_[i].claim;
    if (claim.waits && find(claim.resource)->stalled) block(i);
  }
  while (!to_do_.empty()) {
    const std::size_t node = to_do_.back();
    to_do_.shrink(to_do_.size() - 1);
    for (std::size_t i = nodes_[node].first_signal; i < nodes_[node + 1].first_signal; ++i) {
      block_behind(signals_[i]);
    }
  }
}

// True if some resource gets back something that is not blocked; perhaps it is issued already.
bool Stall::free_what_comes_back() {
  for (Resource& resource : resources_) resource.blocked = 0;
  for (const Node& node : nodes_) {
    if (!node.blocked || node.claim.waits) continue;
    if (Resource* const resource = find(node.claim.resource)) ++resource->blocked;
  }
  bool freed = false;
  for (Resource& resource : resources_) {
    if (!resource.stalled || resource.blocked == resource.returns) continue;
    resource.stalled = false;
    freed = true;
  }
  return freed;
}

bool Engine::has_stalled(const void* resource) noexcept {
  base::Array<Stall::Version> before;
  for (int look = 0;; ++look) {
    Stall stall;
    {
      base::LockGuard lock(queues_mutex_);
      for (Queue* queue : queues_) {
        base::LockGuard queue_lock(queue->mutex_);
        queue->unissued_.for_each([&](Submission& submission) { stall.add(submission); });
      }
    }
    if (look == 1) {
      base::Array<Stall::Version> after;
      return stall.versions(after) && std::ranges::equal(after, before);
    }
    if (!stall.versions(before) || !stall.has_stalled(resource)) return false;
  }
}

}  // namespace halyard::inline v0::timeline

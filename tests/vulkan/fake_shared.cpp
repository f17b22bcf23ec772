// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vulkan/fake_shared.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>

namespace halyard::vulkan::testing {
namespace {

std::mutex shared_mutex;                      // guards the rest
std::map<ino_t, VkSemaphore> exported;        // by the file of its descriptors
std::map<VkSemaphore, VkSemaphore> payloads;  // of imported ones
std::set<VkSemaphore> gone;                   // destroyed, but imports of it exist

// Under the mutex.
bool is_used(VkSemaphore payload) {
  for (const auto& [imported, its] : payloads) {
    if (its == payload) return true;
  }
  return false;
}

}  // namespace

VkSemaphore payload_of(VkSemaphore semaphore) {
  const std::lock_guard lock(shared_mutex);
  const auto found = payloads.find(semaphore);
  return found != payloads.end() ? found->second : semaphore;
}

int export_payload(VkSemaphore semaphore) {
  const int descriptor = memfd_create("halyard fake timeline", MFD_CLOEXEC);
  struct stat file = {};
  if (descriptor < 0 || fstat(descriptor, &file) != 0) return -1;
  const std::lock_guard lock(shared_mutex);
  exported[file.st_ino] = semaphore;
  return descriptor;
}

bool import_payload(VkSemaphore semaphore, int descriptor) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) return false;
  const std::lock_guard lock(shared_mutex);
  const auto found = exported.find(file.st_ino);
  if (found == exported.end()) return false;
  payloads[semaphore] = found->second;
  close(descriptor);
  return true;
}

std::vector<VkSemaphore> forget_semaphore(VkSemaphore semaphore) {
  const std::lock_guard lock(shared_mutex);
  if (is_used(semaphore)) {
    gone.insert(semaphore);
    return {};
  }
  std::vector<VkSemaphore> destroyed = {semaphore};
  if (const auto imported = payloads.find(semaphore); imported != payloads.end()) {
    const VkSemaphore payload = imported->second;
    payloads.erase(imported);
    if (gone.contains(payload) && !is_used(payload)) {
      gone.erase(payload);
      destroyed.push_back(payload);
    }
  }
  std::erase_if(exported, [&](const auto& each) {
    return each.second == destroyed.front() || each.second == destroyed.back();
  });
  return destroyed;
}

}  // namespace halyard::vulkan::testing

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/metal/dispatch/queue.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread.h"

extern "C" void* objc_autoreleasePoolPush();
extern "C" void objc_autoreleasePoolPop(void* token);

namespace halyard::inline v0::sim::dispatch {
namespace {
// If so many threads are busy, work waits.
constexpr std::size_t kMaxThreads = 64;
}  // namespace

struct Pool {
  gpu::Mutex mutex;
  gpu::Condition changed;
  std::deque<Queue*> ready;  // once for each item that may start
  std::vector<std::unique_ptr<base::Thread>> threads;
  std::size_t idle = 0;
  std::size_t coming = 0;  // started threads that have not checked for work yet
  bool ends = false;
  std::vector<std::pair<std::uint64_t, Queue*>>
      current;  // the items that each thread runs, innermost last

  static Pool& instance() {
    static auto* const one = new Pool;
    return *one;
  }

  // Makes the first item available to a thread if it may start.
  void start(gpu::Lock& lock, Queue& queue);
  void loop();
  bool run_one(gpu::Lock& lock);
  void run(gpu::Lock& lock, Queue& queue, const Queue::Item& item);
  bool runs(const Queue& queue) const {
    for (const auto& [thread, its] : current) {
      if (its == &queue && thread == base::this_thread()) return true;
    }
    return false;
  }
  void drop(Queue& queue) {
    if (--queue.users_ == 0) delete &queue;
  }
};

Queue::Queue(std::string label, bool is_concurrent)
    : label_(std::move(label)), is_concurrent_(is_concurrent) {}

Queue* Queue::create(std::string label, bool is_concurrent) {
  return new Queue(std::move(label), is_concurrent);
}
void Queue::retain() noexcept {
  const gpu::Lock lock(Pool::instance().mutex);
  ++users_;
}
void Queue::release() noexcept {
  const gpu::Lock lock(Pool::instance().mutex);
  Pool::instance().drop(*this);
}

bool Queue::may_start() const noexcept {
  if (items_.empty() || barrier_runs_) return false;
  return running_ == 0 || (is_concurrent_ && !items_.front().is_barrier);
}

void Pool::start(gpu::Lock&, Queue& queue) {
  if (!queue.may_start() || queue.is_ready_) return;
  queue.is_ready_ = !queue.is_concurrent_;
  ready.push_back(&queue);
  ++queue.users_;
  if (ready.size() > idle + coming && threads.size() < kMaxThreads) {
    auto thread = std::make_unique<base::Thread>();
    const auto body = [](void* pool) { static_cast<Pool*>(pool)->loop(); };
    if (thread->start("dispatch", body, this) == 0) {
      threads.push_back(std::move(thread));
      ++coming;
    } else if (threads.empty()) {
      std::abort();  // nothing would run the work
    }
  }
  changed.notify_all();
}

// Runs an item in the calling thread.
void Pool::run(gpu::Lock& lock, Queue& queue, const Queue::Item& item) {
  ++queue.running_;
  queue.barrier_runs_ = item.is_barrier;
  start(lock, queue);  // items that may run concurrently
  current.emplace_back(base::this_thread(), &queue);
  lock.unlock();
  void* const pool = objc_autoreleasePoolPush();
  item.work(item.context);
  objc_autoreleasePoolPop(pool);
  lock.lock();
  for (std::size_t i = current.size(); i-- != 0;) {
    if (current[i].first != base::this_thread()) continue;
    current.erase(current.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  --queue.running_;
  queue.barrier_runs_ = false;
  start(lock, queue);
}

bool Pool::run_one(gpu::Lock& lock) {
  if (ready.empty()) return false;
  Queue& queue = *ready.front();
  ready.pop_front();
  queue.is_ready_ = false;
  if (queue.may_start()) {  // another thread may have taken it by sync()
    const Queue::Item item = queue.items_.front();
    queue.items_.pop_front();
    run(lock, queue, item);
  }
  drop(queue);
  return true;
}

void Pool::loop() {
  gpu::Lock lock(mutex);
  --coming;
  for (;;) {
    if (run_one(lock)) continue;
    if (ends) return;
    ++idle;
    changed.wait(lock, [&] { return !ready.empty() || ends; });
    --idle;
  }
}

void Queue::async(void* context, Function work, bool is_barrier) {
  Pool& pool = Pool::instance();
  gpu::Lock lock(pool.mutex);
  items_.push_back({context, work, is_barrier});
  pool.start(lock, *this);
}

void Queue::sync(void* context, Function work) {
  Pool& pool = Pool::instance();
  gpu::Lock lock(pool.mutex);
  if (!is_concurrent_ && pool.runs(*this)) {
    std::fprintf(stderr, "dispatch: dispatch_sync on queue %s, which the caller runs on\n",
                 label_.c_str());
    std::abort();
  }
  if (items_.empty() && !barrier_runs_ && (is_concurrent_ || running_ == 0)) {
    return pool.run(lock, *this, {context, work, false});
  }
  struct Call {
    void* context;
    Function work;
    bool done = false;
  } call{context, work};
  items_.push_back({&call,
                    [](void* its) {
                      auto& one = *static_cast<Call*>(its);
                      one.work(one.context);
                      const gpu::Lock finished(Pool::instance().mutex);
                      one.done = true;
                      Pool::instance().changed.notify_all();
                    },
                    false});
  pool.start(lock, *this);
  pool.changed.wait(lock, [&] { return call.done; });
}

void end_threads() {
  Pool& pool = Pool::instance();
  std::vector<std::unique_ptr<base::Thread>> threads;
  do {
    for (const auto& thread : std::exchange(threads, {})) thread->join();
    const gpu::Lock lock(pool.mutex);
    pool.ends = true;
    pool.changed.notify_all();
    threads = std::exchange(pool.threads, {});  // their work may have started other threads
  } while (!threads.empty());
  const gpu::Lock lock(pool.mutex);
  pool.ends = false;
}

}  // namespace halyard::inline v0::sim::dispatch

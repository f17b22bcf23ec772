// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware queues that change between submissions: symbols and update_...(). Copied and bound.
#include <atomic>

#include "conformance/hcq.h"
#include "conformance/suites.h"

namespace halyard::inline v0::conformance {
namespace hcq_change {
namespace {

using hcq::ComputeQueue;
using hcq::CopyQueue;
using hcq::Program;
using hcq::Signal;
using hcq::Symbol;
using hcq::SymbolTable;

// Stores words[1] at the address words[0].
const hcq::CustomCommand kStore{"store", [](const std::uint64_t* words) {
                                  *reinterpret_cast<std::atomic<std::uint64_t>*>(words[0]) =
                                      words[1];
                                }};

hcq::Value symbolic(const hcq::Operand& operand) {
  return hcq::Value(hcq::Value::Type::kUint32, operand);
}

// ---- Symbols

void one_queue_orders_a_hundred_submissions_by_its_symbol(Context& t) {
  Hardware h(t);
  const Program increment = h.program("increment");
  const Words x(h, {0});
  const Signal timeline = h.signal();
  SymbolTable symbols;
  const Symbol v = symbols.add();
  ComputeQueue q;
  q.wait(timeline, v - 1);
  for (int i = 0; i < 2; ++i) {
    q.exec(increment, incrementing(increment, x.buffer()), {1, 1, 1}, increment.local_size());
  }
  q.signal(timeline, v);
  h.prepare(q);
  for (std::uint64_t n = 1; n <= 100; ++n) {
    symbols.set(v, n);
    VERIFY_OK(q.submit(h.device(), symbols));
  }
  VERIFY_SIGNALLED(timeline, 100);
  VERIFY_EQ(x.read(0), 200u);
}

void symbolic_signal_and_value_change_between_submissions(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal first = h.signal();
    const Signal second = h.signal();
    SymbolTable symbols;
    const hcq::SignalSymbol signal = symbols.add(first);
    const Symbol value = symbols.add(3);
    auto q = make();
    q.signal(signal, value);
    h.prepare(q);
    VERIFY_OK(q.submit(h.device(), symbols));
    VERIFY_SIGNALLED(first, 3);
    symbols.set(signal, second);
    symbols.set(value, 5);
    VERIFY_OK(q.submit(h.device(), symbols));
    VERIFY_SIGNALLED(second, 5);
    VERIFY_EQ(first.value(), 3u);
  });
}

void symbolic_wait_holds_until_its_value(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    const Signal done = h.signal();
    SymbolTable symbols;
    const Symbol value = symbols.add(2);
    auto q = make();
    q.wait(gate, value + 1).signal(done, value);
    h.prepare(q);
    VERIFY_OK(q.submit(h.device(), symbols));
    gate.set(2);
    VERIFY_CODE(done.wait(2, kAWhile), StatusCode::kDeadlineExceeded);
    gate.set(3);
    VERIFY_SIGNALLED(done, 2);
  });
}

void symbolic_size_runs_that_many_groups(Context& t) {
  Hardware h(t);
  const Program places = h.program("group_places");
  const Signal done = h.signal();
  SymbolTable symbols;
  const Symbol x = symbols.add(), y = symbols.add(), z = symbols.add(), n = symbols.add();
  const Words marks(h, std::vector<std::uint32_t>(4 * 3 * 2));
  ComputeQueue q;
  q.exec(places, places.fill_kernargs({marks.buffer()}), {x, y, z + 1}, places.local_size())
      .signal(done, n);
  h.prepare(q);
  std::uint64_t submitted = 0;
  for (const std::uint32_t nx : {1u, 2u, 4u}) {
    for (const std::uint32_t ny : {1u, 3u}) {
      for (const std::uint32_t nz : {1u, 2u}) {
        const std::vector<std::uint32_t> zeros(24);
        VERIFY_OK(h.allocator().copy_in(marks.buffer(), zeros.data(), 96));
        VERIFY_OK(h.device().synchronize(kWatchdog));
        symbols.set(x, nx);
        symbols.set(y, ny);
        symbols.set(z, nz - 1);
        symbols.set(n, ++submitted);
        VERIFY_OK(q.submit(h.device(), symbols));
        VERIFY_SIGNALLED(done, submitted);
        const std::vector<std::uint32_t> seen = marks.read();
        for (std::size_t i = 0; i < seen.size(); ++i) VERIFY((seen[i] != 0) == (i < nx * ny * nz));
      }
    }
  }
}

void symbolic_address_and_constant_reach_the_kernel(Context& t) {
  Hardware h(t);
  const Program write = h.program("write_counts");
  const Words a(h, std::vector<std::uint32_t>(3)), b(h, std::vector<std::uint32_t>(3));
  const Signal done = h.signal();
  SymbolTable symbols;
  const Symbol buffer = symbols.add(a.address());
  const Symbol x = symbols.add(7);
  const Symbol n = symbols.add(1);
  ComputeQueue q;
  q.exec(write, write.fill_kernargs({{buffer, 12}}, {symbolic(x), symbolic(x + 1), 5u}), {1, 1, 1},
         write.local_size())
      .signal(done, n);
  h.prepare(q);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY_SIGNALLED(done, 1);
  symbols.set(buffer, b.address());
  symbols.set(x, 20);
  symbols.set(n, 2);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY_SIGNALLED(done, 2);
  VERIFY(a.read() == std::vector<std::uint32_t>({7, 8, 5}));
  VERIFY(b.read() == std::vector<std::uint32_t>({20, 21, 5}));
}

void halves_of_a_symbol_fill_two_constants(Context& t) {
  Hardware h(t);
  const Program write = h.program("write_counts");
  const Words x(h, std::vector<std::uint32_t>(3));
  SymbolTable symbols;
  const Symbol address = symbols.add(0x1234'5678'ffff'ffff);
  ComputeQueue q;
  q.exec(write,
         write.fill_kernargs({x.buffer()}, {symbolic(low(address)), symbolic(high(address)),
                                            symbolic(high(address + 1))}),
         {1, 1, 1}, write.local_size())
      .signal(h.device().next_timeline());
  h.prepare(q);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY(x.read() == std::vector<std::uint32_t>({0xffff'ffff, 0x1234'5678, 0x1234'5679}));
}

void symbolic_copy_takes_new_addresses(Context& t) {
  Hardware h(t);
  const Words a(h, {1, 2}), b(h, {3, 4}), c(h, {5, 6});
  const Signal done = h.signal();
  SymbolTable symbols;
  const Symbol target = symbols.add(b.address()), source = symbols.add(a.address());
  const Symbol n = symbols.add(1);
  CopyQueue q;
  q.copy({target, 8}, {source, 8}, 8).signal(done, n);
  h.prepare(q);
  VERIFY_OK(q.submit(h.device(), symbols));
  symbols.set(target, c.address());
  symbols.set(source, b.address());
  symbols.set(n, 2);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY_SIGNALLED(done, 2);
  VERIFY(c.read() == a.read());
}

void submissions_in_flight_keep_what_they_were_submitted_with(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal gate = h.signal();
    const Signal done = h.signal();
    std::vector<std::atomic<std::uint64_t>*> marks;
    for (int i = 0; i < 100; ++i) marks.push_back(&h.cell());
    SymbolTable symbols;
    const Symbol mark = symbols.add(), value = symbols.add();
    auto q = make();
    q.wait(gate, 1).custom(kStore, {mark, value + 1}).signal(done, value + 1);
    h.prepare(q);
    for (std::uint64_t i = 0; i < 100; ++i) {
      symbols.set(mark, address_of(*marks[i]));
      symbols.set(value, i);
      VERIFY_OK(q.submit(h.device(), symbols));
    }
    gate.set(1);
    VERIFY_SIGNALLED(done, 100);
    for (std::uint64_t i = 0; i < 100; ++i) VERIFY_EQ(marks[i]->load(), i + 1);
  });
}

// ---- Updates

void updates_change_signal_and_wait(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal open = h.signal(1), gate = h.signal(), done = h.signal(), other = h.signal();
    auto q = make();
    q.wait(open, 1).signal(done, 1);
    h.prepare(q);
    VERIFY_OK(q.submit(h.device()));
    VERIFY_SIGNALLED(done, 1);
    q.update_wait(0, gate, 5).update_signal(1, other, 2);
    VERIFY_OK(q.submit(h.device()));
    VERIFY_CODE(other.wait(2, kAWhile), StatusCode::kDeadlineExceeded);
    gate.set(5);
    VERIFY_SIGNALLED(other, 2);
    VERIFY_EQ(done.value(), 1u);
  });
}

void update_of_a_kernel_changes_groups_and_arguments(Context& t) {
  Hardware h(t);
  const Program places = h.program("group_places");
  const Signal done = h.signal();
  std::uint64_t n = 0;
  const Words first(h, std::vector<std::uint32_t>(27));
  ComputeQueue q;
  q.exec(places, places.fill_kernargs({first.buffer()}), {1, 1, 1}, places.local_size())
      .signal(done, 0);
  h.prepare(q);
  for (std::uint32_t x = 1; x <= 3; ++x) {
    for (std::uint32_t y = 1; y <= 3; ++y) {
      for (std::uint32_t z = 1; z <= 3; ++z) {
        const Words marks(h, std::vector<std::uint32_t>(27));
        q.update_exec(0, places.fill_kernargs({marks.buffer()}), {x, y, z})
            .update_signal(1, done, ++n);
        VERIFY_OK(q.submit(h.device()));
        VERIFY_SIGNALLED(done, n);
        const std::vector<std::uint32_t> seen = marks.read();
        for (std::size_t i = 0; i < seen.size(); ++i) VERIFY((seen[i] != 0) == (i < x * y * z));
      }
    }
  }
  VERIFY(first.read() == std::vector<std::uint32_t>(27));
}

void update_of_a_copy_changes_both_addresses(Context& t) {
  Hardware h(t);
  const Words a(h, {1}), b(h, {2}), c(h, {3}), d(h, {4});
  const Signal done = h.signal();
  CopyQueue q;
  q.copy(b.buffer(), a.buffer(), 4).signal(done, 1);
  h.prepare(q);
  q.update_copy(0, d.buffer(), c.buffer());
  VERIFY_OK(q.submit(h.device()));
  VERIFY_SIGNALLED(done, 1);
  VERIFY_EQ(b.read(0), 2u);
  VERIFY_EQ(d.read(0), 3u);
}

void update_of_one_field_leaves_the_others(Context& t) {
  Hardware h(t);
  const Words a(h, {1, 2}), b(h, {0, 0}), c(h, {0, 0});
  const Signal never = h.signal(), open = h.signal(1), other = h.signal(), done = h.signal();
  SymbolTable symbols;
  const Symbol one = symbols.add(1);
  CopyQueue q;
  q.wait(never, one).copy(b.buffer(), a.buffer(), 8).signal(other, one).signal(done, 1);
  h.prepare(q);
  q.update_wait(0, open).update_copy_target(1, c.buffer()).update_copy_size(1, 4);
  q.update_signal(2, done).update_signal(3, 2);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY_SIGNALLED(done, 2);
  VERIFY_EQ(other.value(), 0u);
  VERIFY(b.read() == (std::vector<std::uint32_t>{0, 0}));
  VERIFY(c.read() == (std::vector<std::uint32_t>{1, 0}));
}

void update_before_the_first_submission_takes_effect(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal never = h.signal(), open = h.signal(1), done = h.signal();
    std::atomic<std::uint64_t>& stored = h.cell();
    auto q = make();
    q.wait(never, 1).custom(kStore, {address_of(stored), 1}).signal(done, 1);
    h.prepare(q);
    q.update_wait(0, open, 1).update_custom(1, {address_of(stored), 2});
    VERIFY_OK(q.submit(h.device()));
    VERIFY_SIGNALLED(done, 1);
    VERIFY_EQ(stored.load(), 2u);
  });
}

void last_of_several_updates_wins_and_persists(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    std::atomic<std::uint64_t>& stored = h.cell();
    SymbolTable symbols;
    const Symbol n = symbols.add();
    auto q = make();
    q.custom(kStore, {address_of(stored), 1}).signal(done, n);
    h.prepare(q);
    for (std::uint64_t value = 2; value <= 9; ++value) {
      q.update_custom(0, {address_of(stored), value});
    }
    for (std::uint64_t i = 1; i <= 3; ++i) {
      stored = 0;
      symbols.set(n, i);
      VERIFY_OK(q.submit(h.device(), symbols));
      VERIFY_SIGNALLED(done, i);
      VERIFY_EQ(stored.load(), 9u);
    }
  });
}

// ---- Refused uses

void values_that_are_not_given_are_refused(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    SymbolTable symbols, other;
    const Symbol v = symbols.add(1);
    other.add(1);
    auto q = make();
    q.signal(done, v);
    h.prepare(q);
    const Status status = q.submit(h.device());
    VERIFY_CODE(status, StatusCode::kInvalidArgument);
    VERIFY(status.message().find("queue: it has symbols") != std::string_view::npos);
    VERIFY_CODE(q.submit(h.device(), other), StatusCode::kInvalidArgument);
    VERIFY_EQ(done.value(), 0u);
    VERIFY_OK(q.submit(h.device(), symbols));
    VERIFY_SIGNALLED(done, 1);
    auto two = make();
    two.signal(done, v).signal(done, other.add(2));
    VERIFY_CODE(two.submit(h.device(), symbols), StatusCode::kInvalidArgument);
  });
}

void empty_signal_of_a_symbol_is_refused_until_it_is_set(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    SymbolTable symbols;
    const hcq::SignalSymbol empty = symbols.add(Signal());
    auto q = make();
    q.signal(empty, 1);
    h.prepare(q);
    const Status status = q.submit(h.device(), symbols);
    VERIFY_CODE(status, StatusCode::kInvalidArgument);
    VERIFY(status.message().find("command 0 has an empty signal") != std::string_view::npos);
    symbols.set(empty, done);
    VERIFY_OK(q.submit(h.device(), symbols));
    VERIFY_SIGNALLED(done, 1);
  });
}

void value_that_does_not_fit_is_out_of_range_and_queues_nothing(Context& t) {
  Hardware h(t);
  const Program write = h.program("write_counts");
  const Words x(h, std::vector<std::uint32_t>(3));
  const Signal done = h.signal();
  SymbolTable symbols;
  const Symbol by = symbols.add(std::uint64_t{1} << 32);
  ComputeQueue q;
  q.signal(done, 1)
      .exec(write, write.fill_kernargs({x.buffer()}, {symbolic(by), 0u, 0u}), {1, 1, 1},
            write.local_size())
      .signal(done, 2);
  h.prepare(q);
  const Status status = q.submit(h.device(), symbols);
  VERIFY_CODE(status, StatusCode::kOutOfRange);
  VERIFY(status.message().find("queue: 4294967296 does not fit the 32 bits of command 1") !=
         std::string_view::npos);
  VERIFY_CODE(done.wait(1, kAWhile), StatusCode::kDeadlineExceeded);
  symbols.set(by, 2);
  VERIFY_OK(q.submit(h.device(), symbols));
  VERIFY_SIGNALLED(done, 2);
  VERIFY_EQ(x.read(0), 2u);
}

void update_of_another_kind_of_command_is_refused(Context& t) {
  with_queue(t, [&](Hardware& h, auto make) {
    const Signal done = h.signal();
    SymbolTable symbols;
    const Symbol v = symbols.add(1);
    const auto refused = [&](StatusCode code, auto update) {
      auto q = make();
      q.signal(done, 1).wait(done, v);
      h.prepare(q);
      update(q);
      const Status status = q.submit(h.device(), symbols);
      VERIFY_CODE(status, code);
      VERIFY(status.message().starts_with("queue: update_"));
    };
    refused(StatusCode::kInvalidArgument, [&](auto& q) { q.update_wait(0, done, 1); });
    refused(StatusCode::kInvalidArgument, [&](auto& q) { q.update_signal(1, done, 1); });
    refused(StatusCode::kInvalidArgument, [&](auto& q) { q.update_signal(0, Signal(), 1); });
    refused(StatusCode::kOutOfRange, [&](auto& q) { q.update_signal(2, done, 1); });
    refused(StatusCode::kFailedPrecondition, [&](auto& q) { q.update_wait(1, done, 1); });
    VERIFY_EQ(done.value(), 0u);
  });
}

#define CASE_BOUND_AND_NOT(name) {"hcq_change", #name, name, Vary::kBoundQueues}
#define CASE_IN_EVERY_WAY(name) {"hcq_change", #name, name, Vary::kQueueKinds | Vary::kBoundQueues}
constexpr Case kCases[] = {
    CASE_BOUND_AND_NOT(one_queue_orders_a_hundred_submissions_by_its_symbol),
    CASE_IN_EVERY_WAY(symbolic_signal_and_value_change_between_submissions),
    CASE_IN_EVERY_WAY(symbolic_wait_holds_until_its_value),
    CASE_BOUND_AND_NOT(symbolic_size_runs_that_many_groups),
    CASE_BOUND_AND_NOT(symbolic_address_and_constant_reach_the_kernel),
    CASE_BOUND_AND_NOT(halves_of_a_symbol_fill_two_constants),
    CASE_BOUND_AND_NOT(symbolic_copy_takes_new_addresses),
    CASE_IN_EVERY_WAY(submissions_in_flight_keep_what_they_were_submitted_with),
    CASE_IN_EVERY_WAY(updates_change_signal_and_wait),
    CASE_BOUND_AND_NOT(update_of_a_kernel_changes_groups_and_arguments),
    CASE_BOUND_AND_NOT(update_of_a_copy_changes_both_addresses),
    CASE_BOUND_AND_NOT(update_of_one_field_leaves_the_others),
    CASE_IN_EVERY_WAY(update_before_the_first_submission_takes_effect),
    CASE_IN_EVERY_WAY(last_of_several_updates_wins_and_persists),
    CASE_IN_EVERY_WAY(values_that_are_not_given_are_refused),
    CASE_IN_EVERY_WAY(empty_signal_of_a_symbol_is_refused_until_it_is_set),
    CASE_BOUND_AND_NOT(value_that_does_not_fit_is_out_of_range_and_queues_nothing),
    CASE_IN_EVERY_WAY(update_of_another_kind_of_command_is_refused),
};
#undef CASE_BOUND_AND_NOT
#undef CASE_IN_EVERY_WAY

}  // namespace
}  // namespace hcq_change

std::span<const Case> hcq_change_cases() noexcept { return hcq_change::kCases; }

}  // namespace halyard::inline v0::conformance

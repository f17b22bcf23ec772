// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <new>
#include <string>
#include <thread>

#include "simulation/hip/gfx/execution.h"
#include "simulation/hip/gfx/launch.h"
#include "simulation/hip/gfx/print.h"
#include "simulation/hip/gfx/text.h"
#include "simulation/hip/gfx/workgroup.h"

namespace halyard::inline v0::sim::gfx {
namespace {

std::string text_of(const Place& place) {
  return join(place.kernel, ", offset ", hex(place.offset), " (", place.instruction,
              "), workgroup (", place.block[0], ", ", place.block[1], ", ", place.block[2],
              "), wave ", place.wave, ", lane ", place.lane);
}

}  // namespace

std::byte* Worker::find_others(std::uint64_t address, std::uint32_t size, bool is_write) {
  const auto holds = [&](const Mapping& mapping) {
    return address >= mapping.begin && address < mapping.end && size <= mapping.end - address;
  };
  const auto bytes_of = [&](const Mapping& mapping) {
    return is_write && !mapping.writable ? nullptr : mapping.host + (address - mapping.begin);
  };
  for (const Mapping& each : mappings) {
    if (holds(each)) return bytes_of(each);
  }
  for (const Mapping& each : run->windows) {
    if (holds(each)) return bytes_of(each);
  }
  const std::optional<Mapping> found = run->memory->find(address);
  if (!found || !holds(*found)) return nullptr;
  mappings[next_mapping] = *found;
  next_mapping = (next_mapping + 1) % mappings.size();
  return bytes_of(*found);
}

Place Run::place_of(const Wave& wave, const Instruction& at, unsigned lane) const {
  Place place;
  place.kernel = kernel->name;
  place.offset = at.offset_in_code - code->entry_offset;
  // Both instructions, if it is a dual-issue pair.
  const auto* const all = program->instructions.data();
  const auto index = static_cast<std::size_t>(&at - all);
  place.instruction =
      print(std::span(program->instructions).subspan(index, at.is_dual_with_next ? 2 : 1));
  place.block = wave.group->index;
  place.wave = wave.index;
  place.lane = lane;
  return place;
}

void Run::report(FindingKind kind, const Wave& wave, const Instruction& at, unsigned lane,
                 const std::string& message) {
  const std::lock_guard lock(mutex);
  ++outcome.findings_count;
  // At most one finding for each instruction and kind.
  const std::uint64_t offset = at.offset_in_code - code->entry_offset;
  const bool is_known = std::ranges::any_of(outcome.findings, [&](const Finding& each) {
    return each.kind == kind && each.place.offset == offset;
  });
  if (is_known || outcome.findings.size() >= options->max_findings) return;
  const Place place = place_of(wave, at, lane);
  outcome.findings.push_back(
      {kind, place, text_of(place) + ": " + std::string(to_string(kind)) + ": " + message});
}

void Wave::fail(OutcomeKind kind, const Instruction& at, unsigned lane, std::string message,
                std::uint64_t address) {
  Run& run = *group->run;
  stops = true;
  const std::lock_guard lock(run.mutex);
  if (run.is_over.exchange(true)) return;
  run.outcome.kind = kind;
  run.outcome.place = run.place_of(*this, at, lane);
  run.outcome.address = address;
  run.outcome.message =
      text_of(run.outcome.place) + ": " + std::string(to_string(kind)) + ": " + message;
}

std::uint64_t Wave::execute(std::uint64_t slice) {
  std::uint64_t count = 0, lanes = 0;
  stops = false;
  while (count < slice && !stops) {
    const Ins& ins = code[pc++];
    ++count;
    lanes += static_cast<std::uint64_t>(std::popcount(exec() & ins.counted));
    ins.run(*this, ins);
  }
  executed += count;
  worker->wave_instructions += count;
  worker->lane_instructions += lanes;
  return count;
}

std::uint64_t Wave::execute_checked(std::uint64_t slice) {
  std::uint64_t count = 0, lanes = 0;
  stops = false;
  while (count < slice && !stops) {
    const Ins& ins = code[pc++];
    ++count;
    lanes += static_cast<std::uint64_t>(std::popcount(exec() & ins.counted));
    checks->before(*this, ins);
    const bool is_dual = ins.from->is_dual_with_next;
    if (is_dual) checks->before(*this, code[pc]);
    ins.run(*this, ins);
    checks->after(ins);
    if (is_dual) checks->after((&ins)[1]);
  }
  executed += count;
  worker->wave_instructions += count;
  worker->lane_instructions += lanes;
  return count;
}

Outcome run(const CodeObject& code, const Launch& launch, Memory& memory, const Options& options) {
  Run run;
  run.program = &code.program();
  run.launch = &launch;
  run.options = &options;
  run.memory = &memory;
  if (std::string wrong = prepare(run); !wrong.empty()) {
    run.outcome.kind = OutcomeKind::kInvalidLaunch;
    run.outcome.message = "invalid launch: " + wrong;
    return std::move(run.outcome);
  }
  const auto work = [&run] { Execution(run).work(); };
  const auto workers = static_cast<unsigned>(
      std::clamp<std::uint64_t>(options.threads, 1, std::min<std::uint64_t>(run.workgroups, 256)));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return std::move(run.outcome);
}

std::string_view to_string(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kOk:
      return "ok";
    case OutcomeKind::kInvalidLaunch:
      return "invalid launch";
    case OutcomeKind::kIllegalAddress:
      return "illegal address";
    case OutcomeKind::kIllegalInstruction:
      return "illegal instruction";
    case OutcomeKind::kTrap:
      return "trap";
    case OutcomeKind::kDeadlock:
      return "deadlock";
    case OutcomeKind::kTimeout:
      return "timeout";
    case OutcomeKind::kStopped:
      return "stopped";
  }
  return "";
}

std::string_view to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::kLdsRace:
      return "race in LDS";
    case FindingKind::kDivergentBarrier:
      return "divergent barrier";
    case FindingKind::kMissingWait:
      return "missing wait";
    case FindingKind::kUndefinedRegister:
      return "undefined register";
  }
  return "";
}

}  // namespace halyard::inline v0::sim::gfx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/hip/gfx/code_reader.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/hip/gfx/decode.h"
#include "simulation/hip/gfx/print.h"
#include "simulation/hip/gfx/text.h"

namespace halyard::inline v0::sim::gfx {
namespace {

using Program = CodeObject::Program;

// Execution does not continue after these: s_trap ends the run. (Compilers emit code after it, to
// which a trap handler would return, with messages to the host's driver.)
bool ends(Opcode opcode) {
  return (facts_of(opcode).facts & kEnds) != 0 || opcode == Opcode::s_branch ||
         opcode == Opcode::s_setpc_b64 || opcode == Opcode::s_trap;
}
bool has_target(const Instruction& instruction) {
  return (facts_of(instruction.opcode).facts & kBranches) != 0 &&
         instruction.opcode != Opcode::s_setpc_b64 && instruction.opcode != Opcode::s_swappc_b64;
}

class Reader {
 public:
  explicit Reader(Program& program) : program_(program) {
    words_.resize((program.code_end - program.code_begin) / 4);
    if (words_.empty()) return;  // no code, so no kernels
    std::memcpy(words_.data(), program.image.data() + program.code_begin, words_.size() * 4);
    program.instruction_at.assign(words_.size(), Program::kNoInstruction);
  }

  LoadStatus read(std::span<const std::uint64_t> functions, std::string& error) {
    sweep();
    was_reached_.assign(words_.size(), false);
    for (std::size_t i = 0; i != program_.kernels.size(); ++i) {
      const LoadStatus status = follow(program_.code[i].entry_offset, program_.kernels[i].name);
      if (status != LoadStatus::kOk) return fail(status, error);
    }
    // Calls by address may reach any function.
    if (calls_by_address_) {
      for (const std::uint64_t function : functions) {
        const LoadStatus status = follow(function, "a function");
        if (status != LoadStatus::kOk) return fail(status, error);
      }
    }
    append_end(words_.size());
    for (Instruction& instruction : program_.instructions) {
      if (has_target(instruction) && instruction.size != 0) set_target(instruction);
    }
    for (Program::KernelCode& code : program_.code) code.entry = program_.find(code.entry_offset);
    return LoadStatus::kOk;
  }

 private:
  LoadStatus fail(LoadStatus status, std::string& error) {
    error = std::move(error_);
    return status;
  }
  std::uint64_t offset_of(std::uint64_t word) const { return program_.code_begin + word * 4; }

  // Decodes the whole code sequentially.
  void sweep() {
    bool has_gap = false;
    for (std::uint64_t word = 0; word < words_.size();) {
      const Decoded decoded = decode(std::span(words_).subspan(word));
      if (decoded.count == 0) {
        word += size_in_words(std::span(words_).subspan(word));
        has_gap = true;
        continue;
      }
      if (std::exchange(has_gap, false)) append_end(word);
      word += append(decoded, word);
    }
  }

  // Appends the instructions and returns their size in words.
  unsigned append(const Decoded& decoded, std::uint64_t word) {
    program_.instruction_at[word] = static_cast<std::uint32_t>(program_.instructions.size());
    for (unsigned i = 0; i != decoded.count; ++i) {
      program_.instructions.push_back(decoded.instructions[i]);
      program_.instructions.back().offset_in_code = static_cast<std::uint32_t>(offset_of(word));
    }
    return decoded.instructions[0].size / 4u;
  }
  // Appends an instruction that is not in the code.
  void append_own(Opcode opcode, std::uint64_t word, std::uint32_t target = 0) {
    Instruction& instruction = program_.instructions.emplace_back();
    instruction.opcode = opcode;
    instruction.target = target;
    instruction.offset_in_code = static_cast<std::uint32_t>(offset_of(word));
    instruction.size = 0;
  }
  void append_end(std::uint64_t word) { append_own(Opcode::s_code_end, word); }

  // The word that a branch at `word` targets.
  std::optional<std::uint64_t> target_of(const Instruction& instruction, std::uint64_t word) const {
    const std::int64_t target =
        static_cast<std::int64_t>(word) + 1 + static_cast<std::int16_t>(instruction.immediate);
    if (target < 0 || static_cast<std::uint64_t>(target) >= words_.size()) return std::nullopt;
    return static_cast<std::uint64_t>(target);
  }
  void set_target(Instruction& instruction) {
    const std::uint64_t word = (instruction.offset_in_code - program_.code_begin) / 4;
    const auto target = target_of(instruction, word);
    const std::uint32_t index = target ? program_.instruction_at[*target] : Program::kNoInstruction;
    // Without a valid target, which is possible only in unreachable code, branch to the final
    // s_code_end.
    instruction.target = index != Program::kNoInstruction
                             ? index
                             : static_cast<std::uint32_t>(program_.instructions.size() - 1);
  }

  // Checks all code that is reachable from an offset in the image.
  LoadStatus follow(std::uint64_t from, std::string_view of) {
    if (from < program_.code_begin || from >= program_.code_end || from % 4 != 0) {
      error_ = join("The entry of ", of, " is outside the code.");
      return LoadStatus::kDamaged;
    }
    std::vector<std::uint64_t> open{(from - program_.code_begin) / 4};
    while (!open.empty()) {
      std::uint64_t word = open.back();
      open.pop_back();
      while (!was_reached_[word]) {
        was_reached_[word] = true;
        if (program_.instruction_at[word] == Program::kNoInstruction && !read_apart(word, of)) {
          return LoadStatus::kNotExecutable;
        }
        const std::uint32_t index = program_.instruction_at[word];
        const Instruction& instruction = program_.instructions[index];
        for (std::uint32_t i = index; i <= index + (instruction.is_dual_with_next ? 1 : 0); ++i) {
          if (is_built(program_.instructions[i])) continue;
          describe(word, of, join(print(program_.instructions[i]), " is not built"));
          return LoadStatus::kNotExecutable;
        }
        calls_by_address_ = calls_by_address_ || instruction.opcode == Opcode::s_swappc_b64 ||
                            instruction.opcode == Opcode::s_setpc_b64;
        if (has_target(instruction)) {
          const auto target = target_of(instruction, word);
          if (!target) {
            describe(word, of, "a branch leaves the code");
            return LoadStatus::kDamaged;
          }
          open.push_back(*target);
        }
        if (ends(instruction.opcode)) break;
        word += instruction.size / 4u;
        if (word >= words_.size()) {
          describe(word, of, "the code ends without s_endpgm");
          return LoadStatus::kDamaged;
        }
      }
    }
    return LoadStatus::kOk;
  }

  // Decodes instructions starting at a word that the sweep took for the middle of another
  // instruction, until they reach the start of a known instruction.
  bool read_apart(std::uint64_t word, std::string_view of) {
    while (true) {
      const Decoded decoded = decode(std::span(words_).subspan(word));
      if (decoded.count == 0) {
        describe(word, of, decoded.error);
        return false;
      }
      const std::uint64_t next = word + append(decoded, word);
      if (ends(decoded.instructions[0].opcode)) return true;
      if (next < words_.size() && program_.instruction_at[next] != Program::kNoInstruction) {
        append_own(Opcode::s_branch, next, program_.instruction_at[next]);
        return true;
      }
      if (next >= words_.size()) {
        append_end(next);
        return true;
      }
      word = next;
    }
  }

  void describe(std::uint64_t word, std::string_view of, std::string_view what) {
    error_ = join("In ", of, ", at ", hex(offset_of(word)), ": ", what, ".");
  }

  Program& program_;
  std::vector<std::uint32_t> words_;
  std::vector<bool> was_reached_;
  bool calls_by_address_ = false;
  std::string error_;
};

}  // namespace

LoadStatus read_code(Program& program, std::span<const std::uint64_t> functions,
                     std::string& error) {
  return Reader(program).read(functions, error);
}

}  // namespace halyard::inline v0::sim::gfx

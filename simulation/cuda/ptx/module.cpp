// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "simulation/cuda/ptx/linker.h"
#include "simulation/cuda/ptx/ptx.h"

namespace halyard::inline v0::sim::ptx {
namespace {

constexpr std::uint32_t kNewestVersion = 90;  // PTX ISA 9.0, of CUDA 13.0
constexpr std::uint32_t kLeastRegisters = 16, kMostRegisters = 255;  // of a thread
constexpr std::uint32_t kMostParameterBytes = 32764;
constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostSharedBytes = 228 << 10;

struct Failure {
  ParseStatus status;
  std::uint32_t line;
  std::string message;
};

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

class Linker {
 public:
  explicit Linker(const ParseOptions& options) : options_(options) {}

  std::unique_ptr<Module::Program> link(std::span<const std::string_view> texts) {
    for (const std::string_view text : texts) {
      if (text.size() > options_.max_text_bytes) {
        throw Failure{ParseStatus::kInvalid, 1, "Text too large"};
      }
      files_.push_back(parse_syntax(text));
      check_target(files_.back());
    }
    if (files_.empty()) throw Failure{ParseStatus::kInvalid, 1, "No input"};
    program_->version = files_[0].version;
    program_->target = files_[0].target;
    symbols_.resize(files_.size());
    // Definitions first, then extern declarations, which may refer to other texts.
    for (const bool is_extern : {false, true}) {
      for (std::size_t i = 0; i < files_.size(); ++i) declare_file(i, is_extern);
    }
    for (std::size_t i = 0; i < files_.size(); ++i) initialise_file(i);
    lower_files();
    finish_entries();
    return std::move(program_);
  }

 private:
  struct Body {
    std::size_t file = 0;
    const FunctionSyntax* syntax = nullptr;
    bool is_weak = false;
  };

  void check_target(const FileSyntax& file) const {
    if (file.version > kNewestVersion) {
      throw Failure{ParseStatus::kUnsupportedVersion, 1,
                    "Unsupported .version " + std::to_string(file.version / 10) + "." +
                        std::to_string(file.version % 10) + "; current version is '9.0'"};
    }
    if (file.target > options_.compute_capability) {
      throw Failure{ParseStatus::kNotForThisDevice, file.target_line,
                    "SM version specified by .target is higher than default SM version assumed"};
    }
  }

  void declare_file(std::size_t index, bool is_extern) {
    const FileSyntax& file = files_[index];
    for (const Declaration& each : file.variables) {
      const bool is_dynamic_shared = each.space == "shared" && each.is_extern;
      if (is_dynamic_shared ? !is_extern : each.is_extern != is_extern) continue;
      declare_variable(each, symbols_[index]);
    }
    for (const FunctionSyntax& each : file.functions) {
      if (each.has_body == !is_extern) declare_function(each, index);
    }
    if (is_extern) {
      for (const auto& [name, target] : file.aliases) {
        const auto found = symbols_[index].find(target);
        if (found == symbols_[index].end()) {
          throw SyntaxError{0, "Unknown alias target '" + std::string(target) + "'"};
        }
        symbols_[index].insert_or_assign(name, found->second);
        linked_.try_emplace(name, found->second);
      }
    }
  }

  void declare_variable(const Declaration& each, Symbols& symbols) {
    if (type_of(each.type).kind == Kind::kNone || type_of(each.type).kind == Kind::kPredicate) {
      throw SyntaxError{each.line, "Illegal type of variable '" + std::string(each.name) + "'"};
    }
    Symbol symbol;
    symbol.size = bytes_of(each);
    symbol.type = type_of(each.type);
    symbol.vector = each.vector;
    if (each.space == "shared") {
      symbol.kind = Symbol::Kind::kShared;
      if (each.is_extern) {
        symbol.value = kDynamicShared;
      } else {
        symbol.value = aligned(shared_bytes_, alignment_of(each));
        shared_bytes_ = symbol.value + symbol.size;
        if (shared_bytes_ > kMostSharedBytes) {
          throw SyntaxError{each.line, "Too much shared data"};
        }
      }
      add(each, symbol, symbols);
      return;
    }
    const auto linked = linked_.find(each.name);
    const bool is_linked = each.is_extern || each.is_weak || each.is_visible;
    if (is_linked && linked != linked_.end()) {
      const bool is_duplicate = !each.is_extern && !each.is_weak;
      if (is_duplicate || linked->second.kind != Symbol::Kind::kVariable) {
        throw SyntaxError{each.line, "Duplicate definition of '" + std::string(each.name) + "'"};
      }
      add(each, linked->second, symbols);
      return;
    }
    if (each.is_extern) {
      throw Failure{ParseStatus::kUndefinedSymbol, each.line,
                    "Unresolved extern variable '" + std::string(each.name) + "'"};
    }
    symbol.kind = Symbol::Kind::kVariable;
    symbol.index = static_cast<std::uint32_t>(program_->variables.size());
    Variable variable;
    variable.name = each.name;
    variable.space = each.space == "const" ? Space::kConstant : Space::kGlobal;
    variable.size = symbol.size;
    variable.alignment = alignment_of(each);
    variable.visible = is_linked;
    variable.is_managed = each.is_managed;
    variable.is_zero = !each.has_initial;
    variable_bytes_ += symbol.size;
    if (variable_bytes_ > kMostVariableBytes) throw SyntaxError{each.line, "Variables too large"};
    program_->variables.push_back(std::move(variable));
    program_->initials.emplace_back();
    definitions_.push_back(&each);
    add(each, symbol, symbols);
    if (is_linked) linked_.emplace(each.name, symbol);
  }

  static void add(const Declaration& each, const Symbol& symbol, Symbols& symbols) {
    // An extern declaration may precede the definition in the same text.
    const auto [found, is_new] = symbols.try_emplace(each.name, symbol);
    if (!is_new && !each.is_extern) {
      throw SyntaxError{each.line, "Duplicate definition of '" + std::string(each.name) + "'"};
    }
  }

  void declare_function(const FunctionSyntax& each, std::size_t file) {
    Symbols& symbols = symbols_[file];
    Symbol symbol;
    symbol.kind = Symbol::Kind::kFunction;
    const auto linked = linked_.find(each.name);
    const bool is_linked = each.is_visible || each.is_weak || each.is_extern;
    if (!each.has_body) {
      if (symbols.contains(each.name)) return;  // declared ahead of its definition
      if (linked != linked_.end()) {
        symbol = linked->second;
      } else if (const auto builtin = builtin_of(each.name)) {
        symbol.kind = Symbol::Kind::kBuiltin;
        symbol.index = static_cast<std::uint32_t>(*builtin);
      } else {
        return;  // an error only if it is called
      }
      symbols.emplace(each.name, symbol);
      return;
    }
    if (is_linked && linked != linked_.end()) {
      if (!each.is_weak && !bodies_[linked->second.index].is_weak) {
        throw SyntaxError{each.line, "Duplicate definition of '" + std::string(each.name) + "'"};
      }
      if (each.is_weak) {
        symbols.emplace(each.name, linked->second);
        return;
      }
    }
    symbol.index = static_cast<std::uint32_t>(program_->functions.size());
    Function function;
    function.name = each.name;
    function.is_entry = each.is_entry;
    if (!each.is_entry) {
      std::uint64_t end = 0;
      const auto lay_out = [&](const std::vector<Declaration>& list,
                               std::vector<Function::Slot>& slots) {
        for (const Declaration& parameter : list) {
          const std::uint64_t offset = aligned(end, alignment_of(parameter));
          end = offset + bytes_of(parameter);
          if (end > kMostParameterBytes) throw SyntaxError{parameter.line, "Parameters too large"};
          slots.push_back({static_cast<std::uint32_t>(offset),
                           static_cast<std::uint32_t>(bytes_of(parameter))});
        }
      };
      lay_out(each.results, function.results);
      lay_out(each.parameters, function.parameters);
    }
    program_->functions.push_back(std::move(function));
    bodies_.push_back({file, &each, each.is_weak});
    if (!symbols.try_emplace(each.name, symbol).second) {
      throw SyntaxError{each.line, "Duplicate definition of '" + std::string(each.name) + "'"};
    }
    if (is_linked) linked_.insert_or_assign(each.name, symbol);
    if (each.is_entry) declare_entry(each, symbol.index, file);
  }

  static std::optional<Builtin> builtin_of(std::string_view name) {
    if (name == "vprintf") return Builtin::kPrint;
    if (name == "malloc") return Builtin::kAllocate;
    if (name == "free") return Builtin::kFree;
    if (name == "__assertfail" || name == "__assert_fail") return Builtin::kAssertFail;
    return std::nullopt;
  }

  void declare_entry(const FunctionSyntax& syntax, std::uint32_t function, std::size_t file) {
    Entry entry;
    entry.name = syntax.name;
    entry.line = syntax.line;
    std::uint64_t end = 0;
    for (const Declaration& each : syntax.parameters) {
      Parameter parameter;
      parameter.name = each.name;
      parameter.alignment = alignment_of(each);
      const std::uint64_t offset = aligned(end, parameter.alignment);
      end = offset + bytes_of(each);
      if (end > kMostParameterBytes) {
        throw SyntaxError{each.line, "Formal parameter space overflowed (" + std::to_string(end) +
                                         " bytes required, max 32764)"};
      }
      parameter.offset = static_cast<std::uint32_t>(offset);
      parameter.size = static_cast<std::uint32_t>(bytes_of(each));
      entry.parameters.push_back(std::move(parameter));
    }
    entry.parameter_bytes = static_cast<std::uint32_t>(end);
    std::uint64_t most = 1;
    const bool is_required = syntax.required_block[0] != 0;
    for (int i = 0; i < 3; ++i) {
      entry.max_block[i] = syntax.max_block[i];
      entry.required_block[i] = syntax.required_block[i];
      most = std::min<std::uint64_t>(
          most * std::max<std::uint64_t>(
                     1, is_required ? syntax.required_block[i] : syntax.max_block[i]),
          UINT32_MAX);
    }
    if (is_required || syntax.max_block[0] != 0) {
      entry.max_threads = static_cast<std::uint32_t>(most);
    }
    entry.min_blocks = syntax.min_blocks;
    const Limits limits = file < options_.limits.size() ? options_.limits[file] : Limits{};
    if (limits.max_threads != 0 && (entry.max_threads == 0 || limits.overrides)) {
      entry.max_threads = limits.max_threads;
    }
    register_limits_.push_back(register_limit(syntax, entry, limits));
    program_->entries.push_back(std::move(entry));
    program_->entry_functions.push_back(function);
  }

  static std::uint32_t register_limit(const FunctionSyntax& syntax, const Entry& entry,
                                      const Limits& limits) {
    // The largest register count with which `threads` fit a multiprocessor, in allocation units.
    const auto for_threads = [](std::uint64_t threads) {
      constexpr std::uint64_t kOfAMultiprocessor = 65536, kUnit = 8;
      const std::uint64_t whole = aligned(std::max<std::uint64_t>(threads, 1), kLanes);
      return static_cast<std::uint32_t>(
          std::min<std::uint64_t>(kOfAMultiprocessor / whole / kUnit * kUnit, kMostRegisters));
    };
    const bool is_given = limits.registers != 0 || limits.threads != 0;
    if (syntax.max_registers != 0 && !(limits.overrides && is_given)) return syntax.max_registers;
    std::uint32_t most = kMostRegisters;
    if (limits.registers != 0) most = std::min(most, limits.registers);
    if (limits.threads != 0) most = std::min(most, for_threads(limits.threads));
    const bool has_blocks = !is_given && limits.min_blocks != 0 && limits.max_threads != 0 &&
                            (syntax.min_blocks == 0 || limits.overrides);
    if (has_blocks) {
      most = std::min(most, for_threads(std::uint64_t{limits.min_blocks} * entry.max_threads));
    }
    return most;
  }

  void initialise_file(std::size_t file) {
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
      const Declaration& each = *definitions_[i];
      const auto& variables = files_[file].variables;
      if (each.initial.empty() || &each < variables.data() ||
          &each >= variables.data() + variables.size()) {
        continue;
      }
      initialise(each, program_->initials[i], symbols_[file], program_->variables[i].size);
    }
  }

  void initialise(const Declaration& declaration, Initial& initial, const Symbols& symbols,
                  std::uint64_t size) const {
    const Type type = type_of(declaration.type);
    if (declaration.initial.size() * type.bytes > size) {
      throw SyntaxError{declaration.line,
                        "Too many initial values of '" + std::string(declaration.name) + "'"};
    }
    initial.bytes.resize(declaration.initial.size() * type.bytes);
    for (std::size_t i = 0; i < declaration.initial.size(); ++i) {
      const Operand& value = declaration.initial[i];
      const std::size_t offset = i * type.bytes;
      std::uint64_t bits = value.value;
      if (value.kind == Operand::Kind::kName) {
        const auto found = symbols.find(value.name);
        const Symbol::Kind kind = found == symbols.end() ? Symbol::Kind::kNone : found->second.kind;
        if (kind == Symbol::Kind::kShared) {
          bits = found->second.value + value.value;
        } else if (kind == Symbol::Kind::kVariable || kind == Symbol::Kind::kFunction) {
          Relocation relocation;
          relocation.offset = offset;
          relocation.is_function = kind == Symbol::Kind::kFunction;
          relocation.target = found->second.index;
          relocation.addend = value.value;
          relocation.size = std::min<std::uint8_t>(type.bytes, 8);
          relocation.shift = value.mask == 0
                                 ? std::uint8_t{0}
                                 : static_cast<std::uint8_t>(std::countr_zero(value.mask));
          initial.relocations.push_back(relocation);
          continue;
        } else {
          throw SyntaxError{declaration.line,
                            "Unknown symbol '" + std::string(value.name) + "' in an initializer"};
        }
      } else if (type.kind == Kind::kFloat && value.number == Number::kInteger) {
        const auto number = static_cast<double>(static_cast<std::int64_t>(bits));
        bits = type.bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                               : std::bit_cast<std::uint64_t>(number);
      } else if (value.number == Number::kDouble && type.bytes == 4) {
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      } else if (value.number == Number::kFloat && type.bytes == 8) {
        bits = std::bit_cast<std::uint64_t>(
            double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))});
      }
      std::memcpy(&initial.bytes[offset], &bits, std::min<std::size_t>(type.bytes, 8));
    }
  }

  // Functions first, because their shared variables precede those of every entry that calls
  // functions.
  void lower_files() {
    FunctionLowering lowering(*program_);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      if (bodies_[i].syntax->is_entry) continue;
      lowering.lower(*bodies_[i].syntax, static_cast<std::uint32_t>(i), symbols_[bodies_[i].file],
                     shared_bytes_);
    }
    for (std::size_t i = 0; i < program_->entries.size(); ++i) {
      const std::uint32_t index = program_->entry_functions[i];
      const FunctionSyntax& syntax = *bodies_[index].syntax;
      std::uint64_t end = shared_bytes_ != 0 && uses_common_shared(index) ? shared_bytes_ : 0;
      lowering.lower(syntax, index, symbols_[bodies_[index].file], end);
      program_->entries[i].static_shared_bytes = static_cast<std::uint32_t>(end);
    }
  }

  // Whether an entry calls a function or names a shared variable from outside of it.
  bool uses_common_shared(std::uint32_t function) const {
    const Symbols& symbols = symbols_[bodies_[function].file];
    const auto names_one = [&](const Operand& operand) {
      const auto found = symbols.find(operand.name);
      return found != symbols.end() && found->second.kind == Symbol::Kind::kShared &&
             found->second.value != kDynamicShared;
    };
    return std::ranges::any_of(bodies_[function].syntax->body, [&](const Item& item) {
      return item.kind == Item::Kind::kInstruction &&
             (item.instruction.opcode == "call" ||
              std::ranges::any_of(item.instruction.operands, names_one));
    });
  }

  // Local memory and registers, with those of the functions that an entry calls.
  void finish_entries() {
    std::vector<std::uint8_t> states(program_->functions.size(), 0);  // 1: in work, 2: done
    std::vector<std::uint64_t> locals(states.size(), 0);
    struct Visit {
      std::uint32_t function;
      std::size_t next;
    };
    for (std::uint32_t root = 0; root < states.size(); ++root) {
      if (states[root] != 0) continue;
      std::vector<Visit> path{{root, 0}};
      states[root] = 1;
      while (!path.empty()) {
        Visit& visit = path.back();
        Function& function = program_->functions[visit.function];
        if (visit.next < function.callees.size()) {
          const std::uint32_t callee = function.callees[visit.next++];
          if (states[callee] == 1) function.calls_unknown = true;
          if (states[callee] == 0) {
            states[callee] = 1;
            path.push_back({callee, 0});
          }
          continue;
        }
        std::uint64_t deepest = 0;
        for (const std::uint32_t callee : function.callees) {
          deepest = std::max(deepest, locals[callee]);
          function.calls_unknown |= program_->functions[callee].calls_unknown;
          function.uses_workspace |= program_->functions[callee].uses_workspace;
        }
        locals[visit.function] = function.local_bytes + deepest;
        states[visit.function] = 2;
        path.pop_back();
      }
    }
    for (std::size_t i = 0; i < program_->entries.size(); ++i) {
      const std::uint32_t function = program_->entry_functions[i];
      program_->entries[i].local_bytes =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(locals[function], UINT32_MAX));
      program_->entries[i].registers = std::clamp<std::uint32_t>(
          program_->functions[function].frame_bytes / (4 * kLanes), kLeastRegisters,
          std::clamp(register_limits_[i], kLeastRegisters, kMostRegisters));
    }
  }

  const ParseOptions& options_;
  std::unique_ptr<Module::Program> program_ = std::make_unique<Module::Program>();
  std::vector<FileSyntax> files_;
  std::vector<Symbols> symbols_;                 // of each file
  Symbols linked_;                               // visible in all files
  std::vector<const Declaration*> definitions_;  // of each variable
  std::vector<Body> bodies_;                     // of each function
  std::vector<std::uint32_t> register_limits_;   // of each entry
  std::uint64_t shared_bytes_ = 0;
  std::uint64_t variable_bytes_ = 0;
};

std::string log_of(ParseStatus status, std::uint32_t line, const std::string& message) {
  const std::string place = "ptxas application ptx input, line " + std::to_string(line);
  if (status == ParseStatus::kUndefinedSymbol) return "ptxas fatal   : " + message + "\n";
  return place + "; error   : " + message +
         "\nptxas fatal   : Ptx assembly aborted due to errors\n";
}

}  // namespace

Parsed Module::parse(std::span<const std::string_view> texts, const ParseOptions& options) {
  Parsed result;
  const auto fail = [&](ParseStatus status, std::uint32_t line, const std::string& message) {
    result.status = status;
    result.line = line;
    result.log = log_of(status, line, message);
  };
  try {
    result.module = std::make_shared<Module>(Linker(options).link(texts));
  } catch (const SyntaxError& error) {
    fail(ParseStatus::kInvalid, error.line, error.message);
  } catch (const Failure& failure) {
    fail(failure.status, failure.line, failure.message);
  } catch (const std::bad_alloc&) {
    fail(ParseStatus::kInvalid, 1, "Out of memory");
  }
  return result;
}

Parsed Module::parse(std::string_view text, const ParseOptions& options) {
  return parse(std::span(&text, 1), options);
}

Module::Module(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
Module::~Module() = default;

std::span<const Entry> Module::entries() const { return program_->entries; }
std::span<const Variable> Module::variables() const { return program_->variables; }
std::uint32_t Module::version() const { return program_->version; }
std::uint32_t Module::target() const { return program_->target; }

std::optional<std::size_t> Module::find_entry(std::string_view name) const {
  const auto found = std::ranges::find(program_->entries, name, &Entry::name);
  if (found == program_->entries.end()) return std::nullopt;
  return found - program_->entries.begin();
}

std::optional<std::size_t> Module::find_variable(std::string_view name) const {
  std::optional<std::size_t> hidden;
  for (std::size_t i = 0; i < program_->variables.size(); ++i) {
    if (program_->variables[i].name != name) continue;
    if (program_->variables[i].visible) return i;
    if (!hidden) hidden = i;
  }
  return hidden;
}

std::vector<std::byte> Module::initial_bytes(std::size_t variable,
                                             std::span<const std::uint64_t> addresses) const {
  const Initial& initial = program_->initials[variable];
  std::vector<std::byte> bytes = initial.bytes;
  bytes.resize(program_->variables[variable].size);
  for (const Relocation& each : initial.relocations) {
    const std::uint64_t address =
        (each.is_function ? kFunctionWindow + each.target : addresses[each.target]) + each.addend;
    const std::uint64_t bits = address >> each.shift;
    std::memcpy(&bytes[each.offset], &bits, each.size);
  }
  return bytes;
}

}  // namespace halyard::inline v0::sim::ptx

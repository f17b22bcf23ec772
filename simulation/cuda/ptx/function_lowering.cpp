// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <string>
#include <utility>

#include "simulation/cuda/ptx/linker.h"

namespace halyard::inline v0::sim::ptx {
namespace {

constexpr std::uint64_t kMostLocalBytes = 512 << 10;  // per thread, of CUDA
constexpr std::uint64_t kMostSharedBytes = 228 << 10;
constexpr std::uint32_t kMostFrameBytes = 64 << 20;
constexpr std::size_t kMostScopes = 256;

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace

std::uint64_t bytes_of(const Declaration& declaration) {
  return declaration.count * declaration.vector * type_of(declaration.type).bytes;
}

std::uint32_t alignment_of(const Declaration& declaration) {
  if (declaration.alignment != 0) return declaration.alignment;
  return std::max<std::uint32_t>(1, declaration.vector * type_of(declaration.type).bytes);
}

class FunctionLowering::Impl final : public Lowering {
 public:
  explicit Impl(Module::Program& program) : Lowering(program) {}

  void lower(const FunctionSyntax& syntax, std::uint32_t index, const Symbols& symbols,
             std::uint64_t& shared_bytes) {
    symbols_ = &symbols;
    index_ = index;
    is_in_entry_ = syntax.is_entry;
    frame_bytes_ = local_bytes_ = 0;
    shared_bytes_ = &shared_bytes;
    labels_.clear();
    fixups_.clear();
    tables_.clear();
    register_results_.clear();
    scopes_.clear();
    parents_.assign(1, 0);
    scopes_.emplace_back();
    current_function().first = static_cast<std::uint32_t>(program_.code.size());
    declare_parameters(syntax);
    for (const Item& item : syntax.body) lower_item(item);
    Instruction end;
    end.line = syntax.body.empty() ? syntax.line : syntax.body.back().line;
    end.opcode = "ret";
    lower_instruction(end);
    patch();
    current_function().frame_bytes =
        static_cast<std::uint32_t>(aligned(frame_bytes_, kSlotAlignment));
    current_function().local_bytes = static_cast<std::uint32_t>(aligned(local_bytes_, 16));
  }

  Symbol find(const Operand& operand) override {
    const Symbol symbol = find_name(operand.name, operand.component);
    if (symbol.kind == Symbol::Kind::kNone) {
      std::string name(operand.name);
      if (!operand.component.empty()) name.append(".").append(operand.component);
      fail((name.starts_with('%') ? "Unknown register or symbol '" : "Unknown symbol '") + name +
           "'");
    }
    return symbol;
  }

  Function& current_function() override { return program_.functions[index_]; }

  Slot temporary(std::uint32_t bytes) override { return allocate(bytes); }

  std::uint32_t local_slot(std::uint32_t bytes) override {
    return static_cast<std::uint32_t>(allocate_local(bytes, bytes, instruction_->line));
  }

  std::uint32_t label(std::string_view name) override {
    fixups_.push_back({program_.code.size(), name, instruction_->line, scopes_.back().id});
    return 0;
  }

 private:
  struct Range {
    std::string_view prefix;
    Type type;
    std::uint32_t vector, count;
  };
  struct Scope {
    std::uint32_t id = 0;  // index in parents_
    Symbols names;
    std::vector<Range> ranges;
  };
  struct Fixup {
    std::size_t code;
    std::string_view label;
    std::uint32_t line;
    std::uint32_t scope;
  };
  struct Table {
    std::uint32_t index;
    const Item* item;
    std::uint32_t scope;
  };
  struct RegisterResult {
    Slot slot;
    std::uint32_t offset, bytes;
  };
  struct Label {
    std::uint32_t scope;
    std::uint32_t code;
  };

  Slot allocate(std::uint32_t bytes) {
    const std::uint32_t alignment = bytes < kSlotAlignment ? 4 : kSlotAlignment;
    frame_bytes_ = static_cast<std::uint32_t>(aligned(frame_bytes_, alignment));
    const Slot slot = slot_of(Base::kFrame, frame_bytes_);
    frame_bytes_ += bytes;
    if (frame_bytes_ > kMostFrameBytes) fail("Too many registers");
    return slot;
  }

  Symbol make_register(Type type, std::uint32_t vector) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kRegister;
    symbol.type = type;
    symbol.vector = vector;
    const std::uint32_t lane = type.bytes == 1 ? 2 : type.bytes;
    symbol.slot = allocate(type.kind == Kind::kPredicate ? 4 : lane * kLanes * vector);
    return symbol;
  }

  Symbol* find_in_scopes(std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->names.find(name); found != scope->names.end()) {
        return &found->second;
      }
      if (digits == name.size() || name.size() - digits > 9) continue;
      for (const Range& range : scope->ranges) {
        if (range.prefix != name.substr(0, digits)) continue;
        if (name[digits] == '0' && name.size() - digits > 1) continue;
        if (std::stoul(std::string(name.substr(digits))) >= range.count) continue;
        return &(scope->names[name] = make_register(range.type, range.vector));
      }
    }
    return nullptr;
  }

  Symbol find_name(std::string_view name, std::string_view component) {
    if (const Symbol* found = find_in_scopes(name)) {
      Symbol symbol = *found;
      if (component.empty()) return symbol;
      const std::uint32_t index = component_index(component);
      if (symbol.kind != Symbol::Kind::kRegister || index >= symbol.vector) return {};
      symbol.slot += index * symbol.type.bytes * kLanes;
      symbol.vector = 1;
      return symbol;
    }
    if (const auto special = special_of(name, component)) {
      Symbol symbol;
      symbol.kind = Symbol::Kind::kRegister;
      symbol.type = *special == Special::kZero64 ? kU64 : kU32;
      symbol.slot = slot_of(Base::kSpecials, static_cast<std::uint32_t>(*special) * kSpecialBytes);
      return symbol;
    }
    if (const auto found = symbols_->find(name); found != symbols_->end() && component.empty()) {
      return found->second;
    }
    return {};
  }

  void declare(std::string_view name, const Symbol& symbol, std::uint32_t line) {
    if (!scopes_.back().names.emplace(name, symbol).second) {
      throw SyntaxError{line, "Duplicate definition of '" + std::string(name) + "'"};
    }
  }

  std::uint64_t allocate_local(std::uint64_t bytes, std::uint32_t alignment, std::uint32_t line) {
    local_bytes_ = aligned(local_bytes_, alignment);
    const std::uint64_t offset = local_bytes_;
    local_bytes_ += bytes;
    if (local_bytes_ > kMostLocalBytes) throw SyntaxError{line, "Too much local memory"};
    return offset;
  }

  Symbol declare_local(const Declaration& declaration) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kLocal;
    symbol.size = bytes_of(declaration);
    symbol.type = type_of(declaration.type);
    symbol.vector = declaration.vector;
    symbol.value = allocate_local(symbol.size, alignment_of(declaration), declaration.line);
    declare(declaration.name, symbol, declaration.line);
    return symbol;
  }

  // Results and parameters of a .func have slots in its local memory. Parameters in registers are
  // loaded at its start, and results in registers are stored before each ret.
  void declare_parameters(const FunctionSyntax& syntax) {
    if (syntax.is_entry) {
      std::uint64_t end = 0;
      for (const Declaration& each : syntax.parameters) {
        Symbol symbol;
        symbol.kind = Symbol::Kind::kParameter;
        symbol.type = type_of(each.type);
        symbol.size = bytes_of(each);
        symbol.value = aligned(end, alignment_of(each));
        end = symbol.value + symbol.size;
        declare(each.name, symbol, each.line);
      }
      return;
    }
    for (const auto* list : {&syntax.results, &syntax.parameters}) {
      for (const Declaration& each : *list) {
        if (each.space != "reg") {
          declare_local(each);
          continue;
        }
        const Type type = type_of(each.type);
        if (type.kind == Kind::kPredicate || type.bytes < 2 || each.vector != 1 || each.is_array ||
            each.range != 0) {
          throw SyntaxError{each.line,
                            "Parameters of functions in registers have 16, 32, 64 or 128 bits"};
        }
        const Symbol symbol = make_register(type, 1);
        declare(each.name, symbol, each.line);
        const auto offset = static_cast<std::uint32_t>(
            allocate_local(bytes_of(each), alignment_of(each), each.line));
        if (list == &syntax.results) {
          register_results_.push_back({symbol.slot, offset, type.bytes});
          continue;
        }
        Instruction start;
        start.line = each.line;
        begin(start);
        emit_local_load(symbol.slot, offset, type.bytes);
        instruction_ = nullptr;
      }
    }
  }

  void lower_item(const Item& item) {
    switch (item.kind) {
      case Item::Kind::kOpen:
        if (scopes_.size() >= kMostScopes) throw SyntaxError{item.line, "Blocks nested too deep"};
        parents_.push_back(scopes_.back().id);
        scopes_.emplace_back().id = static_cast<std::uint32_t>(parents_.size() - 1);
        return;
      case Item::Kind::kClose:
        scopes_.pop_back();
        return;
      case Item::Kind::kLabel: {
        // A label's scope is its block, so two blocks may have labels of the same name.
        std::vector<Label>& labels = labels_[item.label];
        for (const Label& each : labels) {
          if (each.scope != scopes_.back().id) continue;
          throw SyntaxError{item.line,
                            "Duplicate definition of label '" + std::string(item.label) + "'"};
        }
        labels.push_back({scopes_.back().id, static_cast<std::uint32_t>(program_.code.size())});
        return;
      }
      case Item::Kind::kTargets: {
        Symbol symbol;
        symbol.kind = Symbol::Kind::kPrototype;
        if (!item.names.empty()) {
          symbol.kind = Symbol::Kind::kTable;
          symbol.index = static_cast<std::uint32_t>(program_.tables.size());
          program_.tables.emplace_back();
          tables_.push_back({symbol.index, &item, scopes_.back().id});
        }
        declare(item.label, symbol, item.line);
        return;
      }
      case Item::Kind::kDeclaration:
        lower_declaration(item.declaration);
        return;
      case Item::Kind::kInstruction:
        lower_instruction(item.instruction);
        return;
    }
  }

  void lower_declaration(const Declaration& declaration) {
    const Type type = type_of(declaration.type);
    if (declaration.space == "reg") {
      if (declaration.is_array || type.kind == Kind::kNone) {
        throw SyntaxError{declaration.line, "Invalid register declaration"};
      }
      if (declaration.range != 0) {
        scopes_.back().ranges.push_back(
            {declaration.name, type, declaration.vector, declaration.range});
        return;
      }
      declare(declaration.name, make_register(type, declaration.vector), declaration.line);
    } else if (declaration.space == "local" || declaration.space == "param") {
      declare_local(declaration);
    } else if (declaration.space == "shared") {
      Symbol symbol;
      symbol.kind = Symbol::Kind::kShared;
      symbol.type = type;
      symbol.vector = declaration.vector;
      symbol.size = bytes_of(declaration);
      symbol.value = aligned(*shared_bytes_, alignment_of(declaration));
      *shared_bytes_ = symbol.value + symbol.size;
      if (*shared_bytes_ > kMostSharedBytes) {
        throw SyntaxError{declaration.line, "Entry function uses too much shared data (0x" +
                                                std::to_string(*shared_bytes_) +
                                                " bytes, 0x38c00 max)"};
      }
      declare(declaration.name, symbol, declaration.line);
    } else {
      throw SyntaxError{declaration.line, "Unsupported state space '." +
                                              std::string(declaration.space) + "' in a function"};
    }
  }

  // Array elements become byte addresses: values for mov, accessed memory for other instructions.
  Instruction with_bytes(const Instruction& instruction) {
    Instruction result = instruction;
    for (Operand& each : result.operands) {
      if (!each.is_element) continue;
      const Symbol symbol = find(each);
      const bool is_memory =
          symbol.kind == Symbol::Kind::kVariable || symbol.kind == Symbol::Kind::kShared ||
          symbol.kind == Symbol::Kind::kLocal || symbol.kind == Symbol::Kind::kParameter;
      if (!is_memory) fail("Array expected, not '" + std::string(each.name) + "'");
      each.is_element = false;
      each.value *= symbol.type.bytes * symbol.vector;
      if (instruction.opcode != "mov") each.kind = Operand::Kind::kAddress;
    }
    return result;
  }

  void lower_instruction(const Instruction& instruction) {
    begin(instruction);
    if (instruction.opcode == "ret") {
      for (const RegisterResult& each : register_results_) {
        emit_local_store(each.offset, each.slot, each.bytes);
      }
    }
    if (std::ranges::any_of(instruction.operands, &Operand::is_element)) {
      const Instruction changed = with_bytes(instruction);
      lower_instruction(changed);
      return;
    }
    const bool is_known = lower_lanes(*this) || lower_memory(*this) || lower_control(*this) ||
                          lower_move(*this) || lower_warp(*this) || lower_atomic(*this) ||
                          lower_matrix(*this) || lower_async(*this) || lower_video(*this) ||
                          lower_scalar_video(*this);
    if (!is_known) fail("Not a name of any known instruction: '" + std::string(opcode()) + "'");
    check_modifiers();
    instruction_ = nullptr;
  }

  // The label of this name in the innermost block around `scope`.
  std::uint32_t target_of(std::string_view label, std::uint32_t line, std::uint32_t scope) const {
    if (const auto found = labels_.find(label); found != labels_.end()) {
      for (;; scope = parents_[scope]) {
        for (const Label& each : found->second) {
          if (each.scope == scope) return each.code;
        }
        if (scope == 0) break;
      }
    }
    throw SyntaxError{line, "Unknown label '" + std::string(label) + "'"};
  }

  void patch() {
    for (const Fixup& each : fixups_) {
      program_.code[each.code].extra = target_of(each.label, each.line, each.scope);
    }
    for (const Table& each : tables_) {
      for (const std::string_view name : each.item->names) {
        // A table of .calltargets names functions and is not needed.
        if (!labels_.contains(name) && symbols_->contains(name)) continue;
        program_.tables[each.index].push_back(target_of(name, each.item->line, each.scope));
      }
    }
  }

  const Symbols* symbols_ = nullptr;
  std::uint32_t index_ = 0;
  std::uint32_t frame_bytes_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::uint64_t* shared_bytes_ = nullptr;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> parents_;  // of each scope; 0: the function's own
  std::unordered_map<std::string_view, std::vector<Label>> labels_;
  std::vector<Fixup> fixups_;
  std::vector<Table> tables_;
  std::vector<RegisterResult> register_results_;
};

FunctionLowering::FunctionLowering(Module::Program& program)
    : impl_(std::make_unique<Impl>(program)) {}
FunctionLowering::~FunctionLowering() = default;
void FunctionLowering::lower(const FunctionSyntax& syntax, std::uint32_t index,
                             const Symbols& symbols, std::uint64_t& shared_bytes) {
  impl_->lower(syntax, index, symbols, shared_bytes);
}

}  // namespace halyard::inline v0::sim::ptx

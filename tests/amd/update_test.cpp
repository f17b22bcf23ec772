// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields that are changed later: writing the places of a field makes the words that a fresh
// encoding has. With constants and with symbols, each field alone and all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "amd/amd_test_util.h"
#include "drivers/amd/aql.h"
#include "drivers/amd/pm4.h"
#include "drivers/amd/sdma.h"

namespace halyard::amd {
namespace {

using hcq::FieldRole;

constexpr std::size_t kRoles = static_cast<std::size_t>(FieldRole::kValue) + 1;
// By role.
using Values = std::array<std::uint64_t, kRoles>;
using Operands = std::vector<hcq::Operand>;
constexpr std::size_t index(FieldRole role) { return static_cast<std::size_t>(role); }

// Sizes of workgroups are at most 8 and the rest fits any of the packets.
Values random_values(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  Values values{};
  values[index(FieldRole::kSignal)] = below(std::uint64_t{1} << 32);
  for (const FieldRole role : {FieldRole::kSignalAddress, FieldRole::kArguments})
    values[index(role)] = below(std::uint64_t{1} << 44) * 16;
  for (const FieldRole role : {FieldRole::kTarget, FieldRole::kSource})
    values[index(role)] = below(std::uint64_t{1} << 43) * 8;
  for (const FieldRole role : {FieldRole::kGridX, FieldRole::kGridY, FieldRole::kGridZ})
    values[index(role)] = below(1 << 20) + 1;
  for (const FieldRole role : {FieldRole::kLocalX, FieldRole::kLocalY, FieldRole::kLocalZ})
    values[index(role)] = below(8) + 1;
  values[index(FieldRole::kSize)] = below(4 << 20) + 1;
  values[index(FieldRole::kValue)] = random();
  return values;
}

struct Encoding {
  TestBlocks blocks;
  hcq::WordList list{&blocks};
  // Of the list and the blocks.
  Words words() const {
    Words all = words_of(list);
    for (std::size_t block = 0; block < block_count; ++block) {
      const Words words = blocks.block(block);
      all.insert(all.end(), words.begin(), words.end());
    }
    return all;
  }
  std::size_t block_count = 0;
};

struct Case {
  std::string name;
  std::vector<FieldRole> fields;  // that can be changed
  std::function<Status(hcq::WordList&, const Operands&)> encode;
  std::size_t blocks = 0;
  std::vector<FieldRole> symbols = {};  // that must be symbols to be changed
};

Launch launch_of(const Operands& operands) {
  Launch launch;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    launch.groups[axis] = operands[index(FieldRole::kGridX) + axis];
    launch.group_size[axis] = operands[index(FieldRole::kLocalX) + axis];
  }
  launch.arguments = operands[index(FieldRole::kArguments)];
  return launch;
}

Kernel kernel_with_packet() {
  Kernel kernel = golden_kernel();
  kernel.descriptor.properties |= 1u << 1;
  return kernel;
}

const std::vector<FieldRole> kSignalFields{FieldRole::kSignal, FieldRole::kSignalAddress};
const std::vector<FieldRole> kGridFields{FieldRole::kGridX, FieldRole::kGridY, FieldRole::kGridZ,
                                         FieldRole::kArguments};
const std::vector<FieldRole> kLocalFields{FieldRole::kLocalX, FieldRole::kLocalY,
                                          FieldRole::kLocalZ, FieldRole::kArguments};
const std::vector<FieldRole> kLaunchFields{
    FieldRole::kGridX,  FieldRole::kGridY,  FieldRole::kGridZ,    FieldRole::kLocalX,
    FieldRole::kLocalY, FieldRole::kLocalZ, FieldRole::kArguments};

template <class Encoder>
void add_common(std::vector<Case>& cases, const std::string& name, Generation generation) {
  const auto add = [&](std::string command, std::vector<FieldRole> fields, auto encode) {
    cases.push_back({name + " " + command, std::move(fields),
                     [=](hcq::WordList& list, const Operands& operands) {
                       Encoder encoder(list, generation);
                       return encode(encoder,
                                     [&](FieldRole role) { return operands[index(role)]; });
                     }});
  };
  add("wait", kSignalFields, [](Encoder& encoder, auto of) {
    return encoder.wait(of(FieldRole::kSignalAddress), of(FieldRole::kSignal));
  });
  add("signal", kSignalFields, [](Encoder& encoder, auto of) {
    return encoder.signal(of(FieldRole::kSignalAddress), of(FieldRole::kSignal), &kMailbox);
  });
  add("timestamp", {FieldRole::kTarget},
      [](Encoder& encoder, auto of) { return encoder.timestamp(of(FieldRole::kTarget)); });
  add("write", {FieldRole::kTarget, FieldRole::kValue}, [](Encoder& encoder, auto of) {
    return encoder.write(of(FieldRole::kTarget), of(FieldRole::kValue), 8);
  });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_common<Pm4Encoder>(cases, "PM4 of gfx11:", Generation::kGfx11);
  add_common<Pm4Encoder>(cases, "PM4 of gfx942:", Generation::kGfx942);
  add_common<SdmaEncoder>(cases, "SDMA of gfx11:", Generation::kGfx11);
  add_common<SdmaEncoder>(cases, "SDMA of gfx942:", Generation::kGfx942);
  cases.push_back({"PM4 exec", kLaunchFields, [](hcq::WordList& list, const Operands& operands) {
                     return Pm4Encoder(list, Generation::kGfx11)
                         .exec(golden_kernel(), launch_of(operands), kScratch);
                   }});
  for (const auto& [fields, symbols] :
       {std::pair{kGridFields, std::vector<FieldRole>{}}, std::pair{kLocalFields, kLocalFields}}) {
    const std::string suffix = symbols.empty() ? " grid" : " group";
    cases.push_back({"PM4 exec with a packet," + suffix, fields,
                     [](hcq::WordList& list, const Operands& operands) {
                       return Pm4Encoder(list, Generation::kGfx11)
                           .exec(kernel_with_packet(), launch_of(operands), kScratch);
                     },
                     1, symbols});
    cases.push_back({"AQL dispatch," + suffix, fields,
                     [](hcq::WordList& list, const Operands& operands) {
                       return append_dispatch(list, golden_kernel(), launch_of(operands));
                     },
                     0, symbols});
  }
  // With several packets, the size changes the last.
  for (const char* name : {"SDMA copy", "SDMA copy of several packets"}) {
    cases.push_back({name,
                     {FieldRole::kTarget, FieldRole::kSource, FieldRole::kSize},
                     [](hcq::WordList& list, const Operands& operands) {
                       return SdmaEncoder(list, Generation::kGfx942)
                           .copy(operands[index(FieldRole::kTarget)],
                                 operands[index(FieldRole::kSource)],
                                 operands[index(FieldRole::kSize)]);
                     }});
  }
  return cases;
}

class AmdUpdate : public ::testing::Test {
 protected:
  static Operands constants(const Values& values) { return {values.begin(), values.end()}; }
  Status encode(const Case& each, const Operands& operands, Encoding& into) {
    into.list.begin_command();
    into.block_count = each.blocks;
    return each.encode(into.list, operands);
  }
  static void write(hcq::WordList& list, FieldRole role, std::uint64_t value) {
    for (const hcq::FieldPlace& place : list.places()) {
      if (place.field.role == role) list.write(place, place.field.value(value));
    }
  }
  std::vector<Case> cases = all_cases();
  std::mt19937_64 random{3};
  hcq::SymbolTable symbols;
};

constexpr int kRounds = 50;

// The values of a case, of which those of several packets differ by less than a packet.
Values values_for(const Case& each, std::mt19937_64& random) {
  Values values = random_values(random);
  if (each.name.ends_with("several packets")) values[index(FieldRole::kSize)] += 8 << 20;
  return values;
}

TEST_F(AmdUpdate, OfConstantsEqualsAFreshEncoding) {
  for (const Case& each : cases) {
    if (!each.symbols.empty()) continue;
    for (int round = 0; round < kRounds; ++round) {
      Values values = values_for(each, random);
      Encoding updated;
      ASSERT_TRUE(encode(each, constants(values), updated).ok()) << each.name;
      const Values next = values_for(each, random);
      for (const FieldRole role : each.fields) {
        values[index(role)] = next[index(role)];
        write(updated.list, role, values[index(role)]);
        Encoding fresh;
        ASSERT_TRUE(encode(each, constants(values), fresh).ok()) << each.name;
        ASSERT_EQ(updated.words(), fresh.words()) << each.name << ", role " << index(role);
      }
    }
  }
}

TEST_F(AmdUpdate, OfSymbolsEqualsAnEncodingOfConstants) {
  for (const Case& each : cases) {
    if (each.name.ends_with("several packets")) continue;  // the size of a symbol has one packet
    for (int round = 0; round < kRounds; ++round) {
      const Values values = values_for(each, random);
      Operands operands = constants(values);
      for (const FieldRole role : each.fields) operands[index(role)] = symbols.add() + 16;
      Encoding symbolic, constant;
      ASSERT_TRUE(encode(each, operands, symbolic).ok()) << each.name;
      ASSERT_TRUE(encode(each, constants(values), constant).ok()) << each.name;
      ASSERT_NE(symbolic.words(), constant.words()) << each.name;
      for (const FieldRole role : each.fields) write(symbolic.list, role, values[index(role)]);
      ASSERT_EQ(symbolic.words(), constant.words()) << each.name;
    }
  }
}

TEST_F(AmdUpdate, EveryChangeableFieldHasAPlaceAndNoOther) {
  for (const Case& each : cases) {
    const Values values = values_for(each, random);
    Operands operands = constants(values);
    for (const FieldRole role : each.symbols) operands[index(role)] = symbols.add();
    Encoding encoding;
    ASSERT_TRUE(encode(each, operands, encoding).ok()) << each.name;
    for (std::size_t role = 0; role < kRoles; ++role) {
      const bool has = std::ranges::any_of(encoding.list.places(), [&](const auto& place) {
        return index(place.field.role) == role;
      });
      const bool expected =
          std::ranges::find(each.fields, static_cast<FieldRole>(role)) != each.fields.end();
      EXPECT_EQ(has, expected) << each.name << ", role " << role;
    }
  }
}

}  // namespace
}  // namespace halyard::amd

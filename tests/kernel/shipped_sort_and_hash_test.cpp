// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shipped kernels that count, sort and hash.
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernel/shipped_kernels.h"

namespace halyard::testing {
namespace {

using Uints = std::vector<std::uint32_t>;

TEST(ShippedHistogram, CountsEveryKeyOnce) {
  const Shipped file("histogram");
  for (const std::uint32_t size : {0u, 1u, 31u, 32u, 33u, 8191u, 8192u, 8193u, 50001u}) {
    for (const std::uint32_t mask : {0xffffffffu, 3u, 0u}) {
      Uints keys = random_uints(size, 1);
      Uints want(256);
      for (std::uint32_t& key : keys) ++want[(key &= mask) % 256];
      const std::uint32_t groups = groups_of(8192, size);
      const Array<std::uint32_t> parts(std::size_t{groups} * 256), bins(256);
      file.run("histogram", groups, {Array(keys), parts}, {size});
      file.run("histogram_sum", 1, {parts, bins}, {groups});
      EXPECT_EQ(bins.values(), want) << size;
      EXPECT_EQ(std::accumulate(want.begin(), want.end(), 0u), size);
    }
  }
}

struct Sorted {
  Uints keys, values;
};

Sorted radix_sort(const Uints& keys, const Uints& values) {
  const Shipped file("radix_sort");
  const auto size = static_cast<std::uint32_t>(keys.size());
  const std::uint32_t groups = groups_of(2048, size);
  Array<std::uint32_t> from_keys(keys), from_values(values), to_keys(size), to_values(size);
  for (std::uint32_t shift = 0; shift < 32; shift += 4) {
    const Array<std::uint32_t> counts(std::size_t{groups} * 16);
    file.run("radix_count", groups, {from_keys, counts}, {size, shift});
    const Array<std::uint32_t> places = scan("scan_exclusive", counts, groups * 16);
    file.run("radix_move", groups, {from_keys, from_values, places, to_keys, to_values},
             {size, shift});
    std::swap(from_keys, to_keys);
    std::swap(from_values, to_values);
  }
  return {from_keys.values(), from_values.values()};
}

TEST(ShippedRadixSort, OrdersKeysAndKeepsTheOrderOfEqualOnes) {
  for (const std::uint32_t size : {0u, 1u, 2u, 7u, 8u, 9u, 2047u, 2048u, 2049u, 140001u}) {
    for (const std::uint32_t mask : {0xffffffffu, 0xff00000fu, 0x30u, 0u}) {
      Uints keys = random_uints(size, 2);
      for (std::uint32_t& key : keys) key &= mask;
      Uints places(size);
      std::iota(places.begin(), places.end(), 0u);
      const Sorted got = radix_sort(keys, places);

      EXPECT_TRUE(std::ranges::is_sorted(got.keys)) << size;
      // The values are the original index of each key: each occurs once, ascending for equal keys.
      Uints seen = got.values;
      std::ranges::sort(seen);
      EXPECT_TRUE(seen == places) << size;
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(got.keys[i], keys[got.values[i]]) << i << " of " << size;
        if (i > 0 && got.keys[i] == got.keys[i - 1]) {
          ASSERT_LT(got.values[i - 1], got.values[i]) << i << " of " << size;
        }
      }
    }
  }
}

TEST(ShippedRadixSort, KeysInAnyOrderToBeginWith) {
  Uints rising(5000), values(5000);
  std::iota(rising.begin(), rising.end(), 0xfffff000u);  // wraps around to 0 on the way
  std::iota(values.begin(), values.end(), 0u);
  Uints want = rising;
  std::ranges::sort(want);
  EXPECT_EQ(radix_sort(rising, values).keys, want);
  std::ranges::reverse(rising);
  EXPECT_EQ(radix_sort(rising, values).keys, want);
  EXPECT_EQ(radix_sort(want, values).values, values);
}

// ---- SHA-256 ---------------------------------------------------------------------------------

using Digest = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional part of the root-th root of each of the first primes: the
// constants of the standard.
std::vector<std::uint32_t> root_fractions(std::size_t count, int root) {
  std::vector<std::uint32_t> words;
  for (int number = 2; words.size() < count; ++number) {
    bool prime = true;
    for (int divisor = 2; divisor < number; ++divisor) prime = prime && number % divisor != 0;
    if (!prime) continue;
    const long double value = root == 2 ? std::sqrt(static_cast<long double>(number))
                                        : std::cbrt(static_cast<long double>(number));
    words.push_back(static_cast<std::uint32_t>((value - std::floor(value)) * 0x1p32L));
  }
  return words;
}

// Whole blocks: the message, a bit 1, zeros, the length in bits (FIPS 180-4, section 5.1.1).
std::string padded(const std::string& message) {
  std::string bytes = message + '\x80';
  bytes.resize((message.size() + 9 + 63) / 64 * 64);
  std::uint64_t bits = std::uint64_t{message.size()} * 8;
  for (std::size_t i = 1; bits != 0; ++i, bits >>= 8) {
    bytes[bytes.size() - i] = static_cast<char>(bits & 255);
  }
  return bytes;
}

// Section 6.2.2, word by word.
Digest reference_sha256(const std::string& message) {
  static const Uints kRounds = root_fractions(64, 3);
  static const Uints kStart = root_fractions(8, 2);
  const std::string bytes = padded(message);
  Digest digest;
  std::ranges::copy(kStart, digest.begin());
  for (std::size_t block = 0; block < bytes.size(); block += 64) {
    Uints w(64);
    for (std::size_t i = 0; i < 64; ++i) {
      w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(bytes[block + i]);
    }
    for (std::size_t t = 16; t < 64; ++t) {
      const auto low = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const auto high = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = high + w[t - 7] + low + w[t - 16];
    }
    Digest v = digest;  // a to h
    for (std::size_t t = 0; t < 64; ++t) {
      const auto choice = (v[4] & v[5]) | (~v[4] & v[6]);
      const auto majority = (v[0] & v[1]) | (v[0] & v[2]) | (v[1] & v[2]);
      const auto first = v[7] + (std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25)) +
                         choice + kRounds[t] + w[t];
      const auto second =
          (std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22)) + majority;
      std::shift_right(v.begin(), v.end(), 1);
      v[4] += first;
      v[0] = first + second;
    }
    for (std::size_t i = 0; i < 8; ++i) digest[i] += v[i];
  }
  return digest;
}

Uints words_of(const std::string& bytes) {
  Uints words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

std::vector<Digest> sha256(const std::vector<std::string>& messages) {
  std::string blocks;
  Uints ends;
  for (const std::string& message : messages) {
    blocks += padded(message);
    ends.push_back(static_cast<std::uint32_t>(blocks.size() / 64));
  }
  const Array<std::uint32_t> state(messages.size() * 8);
  Shipped("sha256").run("sha256", groups_of(64, messages.size()),
                        {Array(words_of(blocks)), Array(ends), state},
                        {static_cast<std::uint32_t>(messages.size()), 0u});
  const Uints words = state.values();
  std::vector<Digest> digests(messages.size());
  for (std::size_t i = 0; i < words.size(); ++i) digests[i / 8][i % 8] = words[i];
  return digests;
}

// The examples that NIST publishes for FIPS 180-4.
constexpr Digest kOfNothing = {0xe3b0c442, 0x98fc1c14, 0x9afbf4c8, 0x996fb924,
                               0x27ae41e4, 0x649b934c, 0xa495991b, 0x7852b855};
constexpr Digest kOfAbc = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                           0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
constexpr Digest kOf448Bits = {0x248d6a61, 0xd20638b8, 0xe5c02693, 0x0c3e6039,
                               0xa33ce459, 0x64ff2167, 0xf6ecedd4, 0x19db06c1};
constexpr Digest kOfAMillion = {0xcdc76e5c, 0x9914fb92, 0x81a1c7e2, 0x84d73e67,
                                0xf1809a48, 0xa497200e, 0x046d39cc, 0xc7112cd0};

TEST(ShippedSha256, GivesTheDigestsThatNistPublishes) {
  const std::vector<Digest> digests =
      sha256({"", "abc", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"});
  EXPECT_EQ(digests, (std::vector{kOfNothing, kOfAbc, kOf448Bits}));
}

TEST(ShippedSha256, GivesTheDigestOfAMillionBytesThatNistPublishes) {
  const std::string message(1'000'000, 'a');
  // One iteration for each block and four within it.
  if (device_loop_rounds() < padded(message).size() / 64 * 5) {
    GTEST_SKIP() << "this device ends the loops of an item after " << device_loop_rounds()
                 << " rounds; in several launches it passes";
  }
  EXPECT_EQ(sha256({message}), std::vector{kOfAMillion});
}

TEST(ShippedSha256, MessagesOfEveryLengthMatchTheReference) {
  ASSERT_EQ(reference_sha256("abc"), kOfAbc);
  // Every length within a block, and 200 messages, more than some groups have items.
  std::vector<std::string> messages;
  std::vector<Digest> want;
  for (unsigned length = 0; length < 200; ++length) {
    std::string& message = messages.emplace_back();
    for (const std::uint32_t word : random_uints(length, length)) {
      message += static_cast<char>(word & 255);
    }
    want.push_back(reference_sha256(message));
  }
  EXPECT_EQ(sha256(messages), want);
  messages.resize(64);
  want.resize(64);
  EXPECT_EQ(sha256(messages), want);
}

TEST(ShippedSha256, AMessageGoesOnInTheNextLaunch) {
  const Shipped file("sha256");
  const std::string bytes = padded(std::string(1'000'000, 'a'));
  const Array<std::uint32_t> state(8);
  std::uint32_t resume = 0;
  for (std::size_t first = 0; first < bytes.size(); first += std::size_t{64} * 5000) {
    const std::string part = bytes.substr(first, std::size_t{64} * 5000);
    const Uints end = {static_cast<std::uint32_t>(part.size() / 64)};
    file.run("sha256", 1, {Array(words_of(part)), Array(end), state}, {1u, resume});
    resume = 1;
  }
  EXPECT_EQ(state.values(), Uints(kOfAMillion.begin(), kOfAMillion.end()));
}

}  // namespace
}  // namespace halyard::testing

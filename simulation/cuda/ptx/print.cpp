// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulation/cuda/ptx/print.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace halyard::inline v0::sim::ptx {
namespace {

// Longest width and precision: one conversion's output fits a buffer of this size, with the 310
// digits of a large double.
constexpr int kMostWidth = 1000;

class Arguments {
 public:
  explicit Arguments(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    at_ = (at_ + sizeof(T) - 1) & ~(sizeof(T) - 1);
    T value{};
    if (at_ + sizeof(T) <= bytes_.size()) std::memcpy(&value, &bytes_[at_], sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

template <class T>
void append(std::string& out, const std::string& specification, int width, int precision, T value) {
  std::array<char, 2 * kMostWidth + 512> text{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  // The format is built from checked parts: flags, "*.*", length and conversion.
  const int size =
      std::snprintf(text.data(), text.size(), specification.c_str(), width, precision, value);
#pragma GCC diagnostic pop
  if (size > 0) out.append(text.data(), std::min<std::size_t>(size, text.size() - 1));
}

}  // namespace

std::string format_print(
    std::string_view format, std::span<const std::byte> bytes,
    const std::function<std::optional<std::string>(std::uint64_t)>& read_string) {
  std::string out;
  Arguments arguments(bytes);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    if (++i == format.size()) break;
    if (format[i] == '%') {
      out.push_back('%');
      continue;
    }
    std::string flags = "%";
    while (i < format.size() && std::strchr("-+ #0", format[i]) != nullptr && flags.size() < 8) {
      flags.push_back(format[i++]);
    }
    const auto number = [&](int absent) {
      if (i < format.size() && format[i] == '*') {
        ++i;
        return arguments.take<std::int32_t>();
      }
      if (i >= format.size() || format[i] < '0' || format[i] > '9') return absent;
      int value = 0;
      while (i < format.size() && format[i] >= '0' && format[i] <= '9') {
        value = std::min(value * 10 + (format[i++] - '0'), kMostWidth);
      }
      return value;
    };
    const int width = std::clamp(number(0), -kMostWidth, kMostWidth);
    int precision = -1;
    if (i < format.size() && format[i] == '.') {
      ++i;
      precision = std::clamp(number(0), -1, kMostWidth);
    }
    int longs = 0;
    while (i < format.size() && std::strchr("hlLjzt", format[i]) != nullptr) {
      longs += format[i] == 'h' ? 0 : 1;
      ++i;
    }
    if (i == format.size()) break;
    const char conversion = format[i];
    const std::string head = flags + "*.*";
    switch (conversion) {
      case 'd':
      case 'i':
        if (longs > 0) {
          append(out, head + "lld", width, precision,
                 static_cast<long long>(arguments.take<std::int64_t>()));
        } else {
          append(out, head + "d", width, precision, arguments.take<std::int32_t>());
        }
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (longs > 0) {
          append(out, head + "ll" + conversion, width, precision,
                 static_cast<unsigned long long>(arguments.take<std::uint64_t>()));
        } else {
          append(out, head + conversion, width, precision, arguments.take<std::uint32_t>());
        }
        break;
      case 'c':
        append(out, head + "s", width, 1,
               std::string(1, static_cast<char>(arguments.take<std::int32_t>())).c_str());
        break;
      case 'p': {
        // Formatted like the host's printf.
        const auto address = static_cast<unsigned long long>(arguments.take<std::uint64_t>());
        if (address == 0) {
          append(out, head + "s", width, precision, "(nil)");
        } else {
          append(out, flags + "#*.*llx", width, precision, address);
        }
        break;
      }
      case 's': {
        const auto text = read_string(arguments.take<std::uint64_t>());
        // The conversion buffer is limited, so strings without a width or precision bypass it.
        if (text && width == 0 && precision < 0) {
          out += *text;
        } else {
          append(out, head + "s", width, precision, text ? text->c_str() : "(null)");
        }
        break;
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        append(out, head + conversion, width, precision, arguments.take<double>());
        break;
      default:
        out.append(flags).push_back(conversion);
    }
  }
  return out;
}

}  // namespace halyard::inline v0::sim::ptx

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <vector>

namespace digits {
namespace {

// In pixels; kLeft to kBottom are the frame of the curves.
constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 76, kRight = kWidth - 24, kTop = 68, kBottom = kHeight - 60;
// More points than the frame has pixels would only make the file larger.
constexpr std::size_t kMaxPoints = 1400;
constexpr double kLeastLoss = 1e-7;  // represents 0 on the logarithmic axis

struct Point {
  double epoch, loss;
};

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  std::array<char, 512> line;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  text += line.data();
}

// The means of `group` losses at a time, without those that are infinite or NaN.
std::vector<Point> means(std::span<const double> losses, double epochs_per_step,
                         std::size_t group) {
  std::vector<Point> points;
  for (std::size_t first = 0; first < losses.size(); first += group) {
    const auto part = losses.subspan(first, std::min(group, losses.size() - first));
    double sum = 0;
    for (const double loss : part) sum += loss;
    const auto count = static_cast<double>(part.size());
    if (std::isfinite(sum)) {
      points.push_back({(static_cast<double>(first) + count / 2) * epochs_per_step,
                        std::max(sum / count, kLeastLoss)});
    }
  }
  return points;
}

class Axes {
 public:
  // Rounds the range of the losses outwards to 1, 2 or 5 times a power of ten.
  Axes(double epochs, const std::vector<Point>& points) : epochs_(epochs) {
    double least = std::numeric_limits<double>::max(), greatest = kLeastLoss;
    for (const Point& point : points) {
      least = std::min(least, point.loss);
      greatest = std::max(greatest, point.loss);
    }
    least = std::min(least, greatest / 2);
    for (int power = -8; power <= 38; ++power) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10, power);
        if (tick <= least) bottom_ = tick;
        if (tick >= greatest) {
          top_ = tick;
          return;
        }
      }
    }
  }

  double x(double epoch) const { return kLeft + (kRight - kLeft) * epoch / epochs_; }
  double y(double loss) const {
    return kBottom - (kBottom - kTop) * std::log(loss / bottom_) / std::log(top_ / bottom_);
  }

  void draw(std::string& svg) const {
    const bool wide = top_ / bottom_ > 2000;  // then only the powers of ten have room
    for (int power = -8; power <= 38; ++power) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10, power);
        if (tick < bottom_ * 0.999 || tick > top_ * 1.001 || (wide && digit != 1)) continue;
        append(svg, "<path class='grid' d='M%g %.1fH%g'/>\n", kLeft, y(tick), kRight);
        append(svg, "<text class='end' x='%g' y='%.1f'>%g</text>\n", kLeft - 8, y(tick) + 4, tick);
      }
    }
    double spacing = 1;  // epochs; at most 10 ticks
    for (const double next : {1., 2., 5., 10., 20., 50., 100., 200., 500., 1000.}) {
      spacing = next;
      if (epochs_ / next <= 10) break;
    }
    for (double epoch = 0; epoch <= epochs_; epoch += spacing) {
      append(svg, "<path class='axis' d='M%.1f %gv5'/>\n", x(epoch), kBottom);
      append(svg, "<text class='middle' x='%.1f' y='%g'>%g</text>\n", x(epoch), kBottom + 20,
             epoch);
    }
    append(svg, "<path class='axis' d='M%g %gV%gH%g'/>\n", kLeft, kTop, kBottom, kRight);
    append(svg, "<text class='middle' x='%g' y='%g'>epoch</text>\n", (kLeft + kRight) / 2,
           kBottom + 44);
    const double middle = (kTop + kBottom) / 2;
    append(svg, "<text class='middle' transform='translate(20 %g) rotate(-90)'>%s</text>\n", middle,
           "cross-entropy per row");
  }

  void draw(std::string& svg, const char* style, const std::vector<Point>& points) const {
    if (points.empty()) return;
    append(svg, "<path class='%s' d='", style);
    char command = 'M';
    for (const Point& point : points) {
      append(svg, "%c%.1f %.1f", command, x(point.epoch), y(point.loss));
      command = 'L';
    }
    svg += "'/>\n";
  }

 private:
  double epochs_;
  double bottom_ = kLeastLoss / 10, top_ = 1e38;
};

void draw_legend(std::string& svg, bool thinned) {
  const double left = kRight - 150;
  append(svg, "<path class='step' d='M%g %gh24'/>\n", left, kTop + 14);
  append(svg, "<text x='%g' y='%g'>%s</text>\n", left + 32, kTop + 18,
         thinned ? "mean of some steps" : "each step");
  append(svg, "<path class='epoch' d='M%g %gh24'/>\n", left, kTop + 34);
  append(svg, "<text x='%g' y='%g'>mean of an epoch</text>\n", left + 32, kTop + 38);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 127) {
      out += c;
    } else {
      out += '?';  // XML allows neither control characters nor invalid UTF-8
    }
  }
  return out;
}

}  // namespace

void write_loss_svg(const std::string& path, std::span<const double> losses,
                    const Schedule& schedule, const std::string& subtitle) {
  const double epochs_per_step = static_cast<double>(schedule.epochs) / losses.size();
  const std::size_t group = (losses.size() + kMaxPoints - 1) / kMaxPoints;
  const std::vector<Point> steps = means(losses, epochs_per_step, group);
  const std::size_t steps_per_epoch = (losses.size() + schedule.epochs - 1) / schedule.epochs;
  const std::vector<Point> epochs = means(losses, epochs_per_step, steps_per_epoch);

  std::string svg;
  append(svg,
         "<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' viewBox='0 0 %g %g'>\n",
         kWidth, kHeight, kWidth, kHeight);
  svg +=
      "<title>Training loss</title>\n"
      "<style>\n"
      "text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #333 }\n"
      ".title { font-size: 19px; font-weight: 600; fill: #111 }\n"
      ".middle { text-anchor: middle }\n"
      ".end { text-anchor: end }\n"
      "path { fill: none }\n"
      ".grid { stroke: #e4e4e4 }\n"
      ".axis { stroke: #666 }\n"
      ".step { stroke: #9cc3e6; stroke-linejoin: round }\n"
      ".epoch { stroke: #0b5394; stroke-width: 2.5; stroke-linejoin: round }\n"
      "</style>\n"
      "<rect width='100%' height='100%' fill='#fff'/>\n";
  append(svg, "<text class='title' x='%g' y='30'>Handwritten digits: training loss</text>\n",
         kLeft);
  append(svg, "<text x='%g' y='50'>", kLeft);
  svg += escaped(subtitle) + "</text>\n";

  const Axes axes(static_cast<double>(schedule.epochs), steps);
  axes.draw(svg);
  axes.draw(svg, "step", steps);
  axes.draw(svg, "epoch", epochs);
  draw_legend(svg, group > 1);
  svg += "</svg>\n";

  std::ofstream file(path, std::ios::binary);
  file << svg;
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace digits

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference for `digits`: the same network, data and schedule in plain loops and double
// precision. It shares no code with `digits` and does not use Halyard.
//
// usage: digits-reference DIGITS.csv INITIAL.npy EPOCHS BATCH RATE FINAL.npy
//
// Reads the rows and the initial weights (one float32 array, laid out as in network.h), trains,
// writes the final weights (float64, the same layout) and prints the accuracy on the test rows.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPixels = 64;
constexpr std::size_t kHidden = 128;
constexpr std::size_t kClasses = 10;
constexpr std::size_t kTrainRows = 1437;
constexpr std::size_t kTestRows = 360;

struct Network {
  double w1[kPixels][kHidden];
  double b1[kHidden];
  double w2[kHidden][kClasses];
  double b2[kClasses];
};
constexpr std::size_t kParameters = sizeof(Network) / sizeof(double);

struct Row {
  std::array<double, kPixels> pixels;
  std::size_t label;
};

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Row row;
    char comma = ',';
    for (double& pixel : row.pixels) {
      fields >> pixel >> comma;
      pixel /= 16;
    }
    if (!(fields >> row.label) || comma != ',' || row.label >= kClasses) {
      throw std::runtime_error(path + ": row " + std::to_string(rows.size() + 1) + " is damaged");
    }
    rows.push_back(row);
  }
  if (rows.size() != kTrainRows + kTestRows) {
    throw std::runtime_error(path + ": has " + std::to_string(rows.size()) + " rows");
  }
  return rows;
}

// NumPy's format, version 1.0: magic and version (8 bytes), the header's length (2), the header.
constexpr char kMagic[] = "\x93NUMPY\x01";  // its terminator is the minor version, 0

Network read_network(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[sizeof kMagic] = {};
  unsigned char length[2] = {};
  file.read(magic, sizeof magic);
  file.read(reinterpret_cast<char*>(length), sizeof length);
  std::string header(length[0] + 256u * length[1], '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  std::vector<float> values(kParameters);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(kParameters * sizeof(float)));
  if (!file || std::memcmp(magic, kMagic, sizeof magic) != 0 ||
      header.find("'<f4'") == std::string::npos ||
      header.find("(" + std::to_string(kParameters) + ",)") == std::string::npos) {
    throw std::runtime_error(path + ": not an array of " + std::to_string(kParameters) + " floats");
  }
  const std::vector<double> wide(values.begin(), values.end());
  Network network;
  std::memcpy(&network, wide.data(), sizeof network);
  return network;
}

void write_network(const std::string& path, const Network& network) {
  std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(kParameters) + ",), }";
  header.resize(128 - sizeof kMagic - 2 - 1, ' ');  // so that the data begins at byte 128
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write(kMagic, sizeof kMagic);
  file.put(static_cast<char>(header.size())).put('\0');
  file << header;
  file.write(reinterpret_cast<const char*>(&network), sizeof network);
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

struct Activations {
  double hidden[kHidden];
  double logits[kClasses];
};

void forward(const Network& network, const Row& row, Activations& out) {
  std::memcpy(out.hidden, network.b1, sizeof out.hidden);
  for (std::size_t i = 0; i < kPixels; ++i) {
    for (std::size_t j = 0; j < kHidden; ++j) out.hidden[j] += row.pixels[i] * network.w1[i][j];
  }
  for (double& value : out.hidden) value = value > 0 ? value : 0;
  std::memcpy(out.logits, network.b2, sizeof out.logits);
  for (std::size_t i = 0; i < kHidden; ++i) {
    for (std::size_t j = 0; j < kClasses; ++j) out.logits[j] += out.hidden[i] * network.w2[i][j];
  }
}

// Adds the gradient of this row to that of the batch.
void backward(const Network& network, const Row& row, double scale, Network& gradient) {
  Activations at;
  forward(network, row, at);
  double top = at.logits[0];
  for (const double logit : at.logits) top = std::fmax(top, logit);
  double total = 0;
  for (const double logit : at.logits) total += std::exp(logit - top);

  double d_logits[kClasses];
  for (std::size_t j = 0; j < kClasses; ++j) {
    const double probability = std::exp(at.logits[j] - top) / total;
    d_logits[j] = (probability - (j == row.label ? 1 : 0)) * scale;
    gradient.b2[j] += d_logits[j];
  }
  double d_hidden[kHidden];
  for (std::size_t i = 0; i < kHidden; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kClasses; ++j) {
      gradient.w2[i][j] += at.hidden[i] * d_logits[j];
      sum += network.w2[i][j] * d_logits[j];
    }
    d_hidden[i] = at.hidden[i] > 0 ? sum : 0;
    gradient.b1[i] += d_hidden[i];
  }
  for (std::size_t i = 0; i < kPixels; ++i) {
    for (std::size_t j = 0; j < kHidden; ++j) gradient.w1[i][j] += row.pixels[i] * d_hidden[j];
  }
}

void train(Network& network, const std::vector<Row>& rows, std::size_t epochs, std::size_t batch,
           double rate) {
  // The training rows form a ring; each step takes the next `batch` rows.
  const std::size_t steps = (epochs * kTrainRows + batch - 1) / batch;
  Network gradient;
  auto* const parameters = reinterpret_cast<double*>(&network);
  const auto* const gradients = reinterpret_cast<const double*>(&gradient);
  for (std::size_t step = 0; step < steps; ++step) {
    gradient = {};
    for (std::size_t i = 0; i < batch; ++i) {
      const Row& row = rows[(step * batch + i) % kTrainRows];
      backward(network, row, 1.0 / static_cast<double>(batch), gradient);
    }
    for (std::size_t i = 0; i < kParameters; ++i) parameters[i] -= rate * gradients[i];
  }
}

double accuracy(const Network& network, const std::vector<Row>& rows) {
  std::size_t right = 0;
  for (std::size_t r = kTrainRows; r < rows.size(); ++r) {
    Activations at;
    forward(network, rows[r], at);
    std::size_t best = 0;
    for (std::size_t j = 1; j < kClasses; ++j) {
      if (at.logits[j] > at.logits[best]) best = j;
    }
    if (best == rows[r].label) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(kTestRows);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) {
    std::fputs("usage: digits-reference DIGITS.csv INITIAL.npy EPOCHS BATCH RATE FINAL.npy\n",
               stderr);
    return 1;
  }
  const std::vector<Row> rows = read_rows(argv[1]);
  Network network = read_network(argv[2]);
  train(network, rows, std::stoul(argv[3]), std::stoul(argv[4]), std::stod(argv[5]));
  write_network(argv[6], network);
  std::printf("accuracy %.17g\n", accuracy(network, rows));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "digits-reference: %s\n", error.what());
  return 1;
}

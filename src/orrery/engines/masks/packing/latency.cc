// Source: the formulas of Sanger's two published simulators, bench_sanger.py and bench_sanger_v2.py; each step is
// computed in the order of the reference, so that results agree to the last digits. Constant time.
#include "orrery/engines/masks/packing/latency.h"

namespace orrery::masks {
namespace {

constexpr double kFeatures = 768;                  // of BERT-base, fixed in both models
constexpr double kHead = 64;                       // features of a head
constexpr double kGops = 64.0 * 16.0 * 1.0 * 2.0;  // 64 x 16 PEs at 1 GHz, a multiplication and an addition each
constexpr double kTile = 64;                       // rows and columns of a tile of v2
constexpr double kPublishedShare = 16.0 / 64.0;    // PEs to ports of a row: what a load balance of v2 refers to
constexpr double kMilli = 1000;

// Operations in 1e9 of a product of s rows with a matrix of 768 x 768.
double projection(double s) {
  return s * kFeatures * kFeatures * 2 / 1e9;
}

}  // namespace

double latency_v1_ms(const LatencyQuestion& question) {
  const double s = static_cast<double>(question.seq_len);
  const double scores = s * s * kFeatures * 2 / 1e9, values = scores;
  const double dense = 3 * projection(s), pruned = scores + values + projection(s);
  return (dense / kGops + pruned * question.density / (kGops * question.load_balance)) * kMilli;
}

double latency_v2_ms(const LatencyQuestion& question) {
  const double s = static_cast<double>(question.seq_len);
  const double n = question.density / question.load_balance / kPublishedShare * s;
  const double linear = 3 * projection(s) / kGops;
  const double project = projection(s) / kGops * question.density / question.load_balance;
  const double row_tile = ((kFeatures + kTile) + (n + kHead)) * (s / kTile);  // cycles of 1 ns
  return (linear + n / kTile * row_tile / 1e9 + project) * kMilli;
}

std::vector<std::string> left_out_of_v1() {
  return {"the prediction of the mask, the exponentials and the division by their sum",
          "filling and draining the array, and the time of memory: operations at peak only",
          "the output projection is dense, but is scaled with density / load balance as if it were pruned",
          "load balances at 32 PEs a row (50%) are applied to 16 PEs a row: twice the PEs that they were counted for"};
}

std::vector<std::string> left_out_of_v2() {
  return {"the prediction of the mask, the exponentials and the division by their sum",
          "memory: at 128 GB/s its factor is 1 whatever is read",
          "the output projection is dense, but is scaled with density / load balance as if it were pruned",
          "parts of tiles cost their part only, and n stands where the width of the values belongs",
          "load balances at 32 PEs a row (50%) are applied to 16 PEs a row: twice the PEs that they were counted for"};
}

}  // namespace orrery::masks

// The A100 clusters of the measured runs, and tables of numbers from the reference material.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/workload/plain_transformer.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::cluster {

// Nodes of 8 A100-SXM 80 GB with `node_gbit_s` between them; the seven constants were fitted on vTrain's even rows.
inline System a100(double node_gbit_s) {
  System system;
  system.name = "a100";
  machine::Accelerator& gpu = system.accelerator;
  gpu.name = "A100-SXM4-80GB";
  gpu.peak_flops_per_s = {19.5e12, 156e12, 312e12, 0};
  gpu.units = 108;
  gpu.memory_bytes = 80 * 1024.0 * 1024 * 1024;
  gpu.memory_bytes_per_s = 2.039e12;
  gpu.memory_efficiency = 0.85;
  gpu.matrix_efficiency = 0.840;
  gpu.fill_depth = 293;
  gpu.host_seconds_per_op = 37.8e-6;
  system.node_size = 8;
  collective::Network inside;
  inside.size = 8;
  inside.bytes_per_s = 300e9;
  inside.efficiency = 0.8;
  inside.collective_s = 140e-6;
  inside.message_s = 140e-6;
  collective::Network between;
  between.bytes_per_s = node_gbit_s / 8 * 1e9 / 8;
  between.efficiency = 0.9;
  between.latency_s = 20e-6;
  between.collective_s = 140e-6;
  system.fabric.levels[0] = inside;
  system.fabric.levels[1] = between;
  system.fabric.count = 2;
  system.calibration.jitter_seconds = 14.3e-6;
  system.calibration.loss_bytes_per_logit = 82;
  system.calibration.iteration_seconds = 0.26e-3;
  return system;
}

// Sizes to play with, and what they come to.
struct Gpt : workload::PlainTransformer {
  base::Count seq = 0;
  Attention attention = Attention::kMaterialised;

  operator Model() const { return prepared(workload::plain_transformer(*this), {seq, attention}); }  // NOLINT
};

inline Gpt gpt(base::Count heads, base::Count hidden, base::Count layers, base::Count vocab = 51200,
               base::Count seq = 2048) {
  Gpt model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.vocab = vocab;
  model.head_width = hidden / heads;
  model.kv_heads = heads;
  model.ffn = 4 * hidden;
  model.seq = seq;
  return model;
}

using Row = std::map<std::string, std::string>;

// Rows of a CSV file of the reference material by column; empty where it is absent. Quoted fields keep their commas.
inline std::vector<Row> reference_rows(const std::string& name) {
  std::ifstream file(base::kShared / "goldens/cluster" / name);
  const auto fields = [](const std::string& line) {
    std::vector<std::string> result(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        result.emplace_back();
      } else if (c != '\r') {
        result.back() += c;
      }
    }
    return result;
  };
  std::vector<Row> rows;
  std::string line;
  if (!std::getline(file, line)) return rows;
  const std::vector<std::string> header = fields(line);
  while (std::getline(file, line)) {
    const std::vector<std::string> values = fields(line);
    Row row;
    for (std::size_t i = 0; i < header.size() && i < values.size(); ++i) row[header[i]] = values[i];
    rows.push_back(row);
  }
  return rows;
}

inline double number(const Row& row, const std::string& column) {
  return std::stod(row.at(column));
}

}  // namespace orrery::cluster

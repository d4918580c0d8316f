#include "orrery/verbs/sweep/seed_output.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/verbs/sweep/points/hw_configs.h"

namespace orrery::verbs {
namespace {

using store::Figure;
using sweep::SweepAnswer;

std::vector<base::Override> config_of(const SweepAnswer& answer, std::size_t at) {
  std::vector<base::Override> out;
  for (base::Override& set : answer.study.at(answer.points.number(at))) {
    if (set.path.starts_with(sweep::kConfig)) set.path.erase(0, std::string(sweep::kConfig).size());
    out.push_back(std::move(set));
  }
  return out;
}

std::string block(const SweepAnswer& answer, const SeedMetrics& metrics) {
  std::string out;
  for (const base::Override& set : config_of(answer, metrics.at)) out += fmt::format("{}: {}\n", set.path, set.value);
  return out + fmt::format("metrics:\n\tenergy: {}\n\tcycles: {:.0f}\n\tutilization: {}\n\tedp: {}\n",
                           metrics.energy_pj, metrics.cycles, metrics.utilization, metrics.edp);
}

std::string table_of(const SweepAnswer& answer, std::vector<SeedMetrics> metrics) {
  std::stable_sort(metrics.begin(), metrics.end(), [](const auto& a, const auto& b) { return a.edp < b.edp; });
  std::vector<std::vector<std::string>> rows(1);
  if (metrics.empty()) return "";
  // Keys that vary.
  std::vector<bool> varies;
  const std::vector<base::Override> first = config_of(answer, metrics.front().at);
  for (std::size_t k = 0; k < first.size(); ++k) {
    varies.push_back(std::any_of(metrics.begin(), metrics.end(), [&](const SeedMetrics& each) {
      return config_of(answer, each.at)[k].value != first[k].value;
    }));
    if (varies[k]) rows[0].push_back(first[k].path);
  }
  for (const char* name : {"energy", "cycles", "utilization", "edp"}) rows[0].emplace_back(name);
  for (const SeedMetrics& each : metrics) {
    std::vector<std::string>& row = rows.emplace_back();
    const std::vector<base::Override> config = config_of(answer, each.at);
    for (std::size_t k = 0; k < config.size(); ++k)
      if (varies[k]) row.push_back(config[k].value);
    row.push_back(fmt::format("{:.3f}", each.energy_pj));
    row.push_back(fmt::format("{:.0f}", each.cycles));
    row.push_back(fmt::format("{:.3f}", each.utilization));
    row.push_back(fmt::format("{:.3f}", each.edp));
  }
  std::vector<std::size_t> width(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string rule = "+";
  for (const std::size_t w : width) rule += std::string(w + 2, '-') + "+";
  std::string out = rule + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "|";
    for (std::size_t c = 0; c < width.size(); ++c) out += fmt::format(" {:^{}} |", rows[r][c], width[c]);
    out += "\n";
    if (r == 0) out += rule + "\n";
  }
  return out + rule + "\n";
}

}  // namespace

std::vector<SeedMetrics> seed_metrics(const SweepPrinted& printed, bool ignore_heads) {
  std::vector<SeedMetrics> out;
  const SweepAnswer& answer = *printed.answer;
  for (std::size_t at = 0; at < answer.points.size(); ++at) {
    if (!answer.points.found(at)) continue;
    SeedMetrics one{at, 0, 0, 0, 0};
    double repetitions = 0;
    for (const sweep::StoredPart& part : printed.layers(at)) {
      const double times = ignore_heads ? 1 : static_cast<double>(part.instances);
      one.energy_pj += times * part.outcome.figures[Figure::kEnergy];
      one.cycles += times * part.outcome.figures[Figure::kCycles];
      one.edp += times * part.outcome.figures[Figure::kEdp];
      one.utilization += times * 100 * part.outcome.figures[Figure::kUtilization];
      repetitions += times;
    }
    if (repetitions > 0) one.utilization /= repetitions;
    out.push_back(one);
  }
  return out;
}

std::string seed_config_json(const SweepAnswer& answer, const SeedMetrics& metrics) {
  Json out = Json::Object{};
  for (const base::Override& set : config_of(answer, metrics.at)) out[set.path] = sweep_value(set.value);
  out["metrics"] = Json::Object{{"energy", metrics.energy_pj},
                                {"cycles", metrics.cycles},
                                {"utilization", metrics.utilization},
                                {"edp", metrics.edp}};
  return text(out);
}

std::string seed_summary(const SweepAnswer& answer, const std::vector<SeedMetrics>& metrics, bool table) {
  std::string out = "RESULTS SUMMARY:\n\n\n------> Tested configurations:\n";
  for (std::size_t i = 0; i < metrics.size(); ++i) out += (i > 0 ? "---\n" : "") + block(answer, metrics[i]);
  const auto best = [&](const char* name, auto value, bool most) {
    if (metrics.empty()) return;
    double least = value(metrics.front());
    for (const SeedMetrics& each : metrics) least = most ? std::max(least, value(each)) : std::min(least, value(each));
    out += fmt::format("\n---> Best by {}:\n", name);
    bool first = true;
    for (const SeedMetrics& each : metrics) {
      if (value(each) != least) continue;
      out += (first ? "" : "---\n") + block(answer, each);
      first = false;
    }
  };
  best(
      "EDP-sum", [](const SeedMetrics& m) { return m.edp; }, false);
  best(
      "ENERGY used", [](const SeedMetrics& m) { return m.energy_pj; }, false);
  best(
      "CYCLES used", [](const SeedMetrics& m) { return m.cycles; }, false);
  best(
      "UTILIZATION used", [](const SeedMetrics& m) { return m.utilization; }, true);
  if (table) out += "\n\nSUMMARY TABLE:\n" + table_of(answer, metrics);
  return out;
}

}  // namespace orrery::verbs

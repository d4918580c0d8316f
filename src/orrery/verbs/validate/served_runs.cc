// Cost: some ten microseconds a row, reading apart.
#include "orrery/verbs/validate/served_runs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/measured_rows.h"
#include "orrery/inputs/systems/system_reading.h"

namespace orrery::verbs {
namespace {

using base::Count;
using serving::Deployment;
namespace fs = std::filesystem;

const std::vector<std::string> kNeeded = {"row",       "use", "model", "system", "engine",
                                          "precision", "tp",  "isl",   "osl",    "note"};
const std::vector<std::string> kOptional = {"kv_dtype",
                                            "pp",
                                            "ep",
                                            "dp",
                                            "replicas",
                                            "prefill_tp",
                                            "prefill_replicas",
                                            "rate",
                                            "waves",
                                            "ttft_ms",
                                            "tpot_ms",
                                            "output_tokens_per_s",
                                            "max_batched_tokens",
                                            "max_sequences",
                                            "synchronous",
                                            "concurrency"};

// A row as the engine is asked.
struct ServedRun {
  std::string row, model, system, note;
  Use use = Use::kHeldOut;
  Deployment deployment;
  std::optional<Deployment> prompts;
  serving::Load load;
  std::array<double, kServedFigures.size()> measured = {};  // 0: not
};

class ServedRow {
 public:
  ServedRow(const MeasuredTable& table, const formats::csv::Row& row, base::Diagnostics& found)
      : table_(table), row_(row), found_(found) {}

  ServedRun read() {
    ServedRun out;
    out.row = text("row"), out.model = text("model"), out.system = text("system"), out.note = text("note");
    out.use = static_cast<Use>(choice(table_, *cell("use"), kUses, found_));
    Deployment& d = out.deployment;
    std::array<std::string_view, serving::kEngines> engines;
    for (std::size_t e = 0; e < engines.size(); ++e) engines[e] = rules(static_cast<serving::Engine>(e)).name;
    d.engine = static_cast<serving::Engine>(choice(table_, *cell("engine"), engines, found_));
    d.precision = precision("precision");
    d.cache_precision = precision("kv_dtype");
    d.tp = degree("tp"), d.pp = degree("pp"), d.ep = degree("ep"), d.dp = degree("dp");
    d.replicas = degree("replicas");
    d.max_batched_tokens = count("max_batched_tokens"), d.max_sequences = count("max_sequences");
    d.synchronous = count("synchronous") > 0;
    if (count("prefill_replicas") > 0) {
      out.prompts = d;
      out.prompts->tp = degree("prefill_tp"), out.prompts->replicas = degree("prefill_replicas");
    }
    out.load.prompt.mean = number("isl"), out.load.output.mean = number("osl");
    if (const double users = number("concurrency"); users > 0) out.load.concurrency = users;
    if (const double rate = number("rate"); rate > 0) out.load.rate = rate;
    out.load.waves = number("waves");
    serving::check(out.load, found_);
    out.measured = {number("tpot_ms") / 1e3, number("ttft_ms") / 1e3, number("output_tokens_per_s")};
    return out;
  }

 private:
  const formats::csv::Cell* cell(const std::string& column) const {
    const auto at = std::find(table_.columns.begin(), table_.columns.end(), column);
    return at == table_.columns.end() ? nullptr : &row_.cells[static_cast<std::size_t>(at - table_.columns.begin())];
  }
  std::string text(const std::string& column) const {
    const formats::csv::Cell* of = cell(column);
    return of == nullptr ? "" : of->text;
  }
  // 0 where the cell is empty.
  double number(const std::string& column) {
    const std::string written = text(column);
    if (written.empty()) return 0;
    if (const auto value = base::parse_number<double>(written, 0, 1e15)) return *value;
    found_.error("O1358", fmt::format("`{}` is not a number from 0", written), table_.document.place(*cell(column)));
    return 0;
  }
  Count count(const std::string& column) { return static_cast<Count>(number(column)); }
  Count degree(const std::string& column) { return std::max<Count>(1, count(column)); }
  machine::Precision precision(const std::string& column) {
    const std::string written = text(column);
    for (const auto& [name, value] : cluster::precisions())
      if (name == written) return value;
    if (!written.empty())
      found_.error("O1358", fmt::format("`{}` is no precision", written), table_.document.place(*cell(column)));
    return machine::Precision::kBf16;
  }

  const MeasuredTable& table_;
  const formats::csv::Row& row_;
  base::Diagnostics& found_;
};

// Models and systems by name, each read once.
class ReadOnce {
 public:
  explicit ReadOnce(const std::string& directory) : directory_(directory) {}

  const serving::ServedModel& model(const std::string& name) {
    const auto at = models_.find(name);
    if (at != models_.end()) return at->second;
    return models_.emplace(name, serving::served(load_model(directory_, name).transformer)).first->second;
  }
  const cluster::System& system(const std::string& name) {
    const auto at = systems_.find(name);
    if (at != systems_.end()) return at->second;
    return systems_.emplace(name, read_system(directory_, name).system).first->second;
  }

 private:
  const std::string& directory_;
  std::map<std::string, serving::ServedModel> models_;
  std::map<std::string, cluster::System> systems_;
};

// Adds the figures of a run that were measured; else why it has none.
std::string predict(const ServedRun& run, const serving::ServedModel& model, const cluster::System& system,
                    std::vector<ServedPoint>& out) {
  base::Diagnostics impossible;
  serving::check(model, run.deployment, impossible);
  if (run.prompts) serving::check(model, *run.prompts, impossible);
  if (impossible.has_errors()) return "the model cannot be divided so";
  const serving::ServedRoofline operators(system.accelerator);
  const serving::Service s = run.prompts
                                 ? evaluate(model, serving::PoolKinds{{&system, &operators}, {&system, &operators}},
                                            serving::Pools{*run.prompts, run.deployment}, run.load)
                                 : evaluate(model, system, run.deployment, run.load, operators);
  if (!s.fits) return "said not to fit, though it ran";
  // What comes too fast is served as fast as can be; its latency is how long somebody measured.
  const double most = s.stable ? s.output_tokens_per_s : s.capacity * run.load.output.average();
  const std::array<double, kServedFigures.size()> predicted = {s.stable ? s.tpot : 0, s.stable ? s.ttft.mean : 0, most};
  const std::size_t before = out.size();
  for (std::size_t f = 0; f < predicted.size(); ++f) {
    if (!(run.measured[f] > 0) || !(predicted[f] > 0)) continue;
    out.push_back({run.row, run.model, run.system, run.note, run.use, kind_of(model, system, run.deployment),
                   run.load.prompt.average(), run.load.output.average(), static_cast<ServedFigure>(f), run.measured[f],
                   predicted[f], predicted[f] / run.measured[f] - 1});
  }
  return out.size() > before ? "" : "comes faster than it can be served";
}

}  // namespace

std::size_t ServedSet::predicted() const {
  std::size_t out = rows;
  for (const auto& [why, count] : refused) out -= static_cast<std::size_t>(count);
  return out;
}

std::vector<ServedSet> validate_serving(const std::string& directory, const std::vector<std::string>& only) {
  ReadOnce catalogue(directory);
  base::Diagnostics found;
  std::vector<ServedSet> result;
  for (const std::string& path : measured_tables((fs::path(directory) / "serving").string(), only)) {
    const MeasuredTable table = read_measured_table(path, kNeeded, kOptional, found);
    found.throw_if_errors();
    ServedSet set{table.name, table.title, table.source, table.licence, table.rows, 0, {}, {}, {}};
    for (std::size_t i = 1; i < table.document.rows.size(); ++i) {
      const ServedRun run = ServedRow(table, table.document.rows[i], found).read();
      if (found.has_errors()) continue;
      ++set.rows;
      try {
        const std::string why = predict(run, catalogue.model(run.model), catalogue.system(run.system), set.points);
        if (!why.empty()) ++set.refused[why];
      } catch (const base::InputError& error) {
        throw in_row(error, table.document.place(table.document.rows[i]));
      }
    }
    for (std::size_t f = 0; f < kServedFigures.size(); ++f) {
      std::vector<double> errors;
      for (const ServedPoint& point : set.points)
        if (point.use == Use::kHeldOut && point.figure == static_cast<ServedFigure>(f)) errors.push_back(point.error);
      set.held_out[f] = summarise(std::move(errors));
    }
    std::stable_sort(set.points.begin(), set.points.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.error) > std::abs(b.error); });
    result.push_back(std::move(set));
  }
  found.throw_if_errors();
  return result;
}

namespace {

// Of the runs of a kind, each source by itself.
struct KindErrors {
  ServedKindError of;
  std::map<std::string, std::vector<double>> by_source;
};

// Two of three are no larger.
double share_of_most(std::vector<double> errors) {
  if (errors.empty()) return 0;
  std::sort(errors.begin(), errors.end());
  return errors[(2 * errors.size() + 2) / 3 - 1];
}

// Of as many sources as measured enough runs, what the one that is farthest off is within; of one alone, wider; where
// none did, what all of them are within. And how many sources did.
std::pair<double, std::size_t> widest(const std::map<std::string, std::vector<double>>& by_source) {
  double share = 0;
  std::size_t sources = 0;
  std::vector<double> all;
  for (const auto& [name, errors] : by_source) {
    all.insert(all.end(), errors.begin(), errors.end());
    if (errors.size() < kLeastRuns) continue;
    share = std::max(share, share_of_most(errors)), ++sources;
  }
  if (sources == 0) share = share_of_most(all);
  return {share * (sources <= 1 ? kOneSource : 1), sources};
}

}  // namespace

// Tokens/s of many sequences are times between tokens, turned round: runs of which they alone were measured count among
// those times, too.
std::vector<ServedKindError> served_kinds(const std::vector<ServedSet>& sets) {
  std::map<std::string, KindErrors> by_kind;
  const auto add = [&](const ServedSet& set, const ServedPoint& point, ServedFigure figure, double error) {
    const ServedKind& kind = point.kind;
    KindErrors& to = by_kind[fmt::format("{},{},{:02},{},{}", kind.engine, kind.accelerator, kind.bits, kind.experts,
                                         static_cast<int>(figure))];
    if (to.by_source.empty()) to.of = {kind, figure, 0, 0, 0, ServedSpans::none()};
    to.of.spans.widen(point.isl, point.osl);
    ++to.of.runs;
    to.by_source[set.measured_by()].push_back(std::abs(error));
  };
  for (const ServedSet& set : sets) {
    std::set<std::string> timed;  // rows that say the time between tokens
    for (const ServedPoint& point : set.points)
      if (point.figure == ServedFigure::kTpot) timed.insert(point.row);
    for (const ServedPoint& point : set.points) {
      if (point.use != Use::kHeldOut) continue;
      add(set, point, point.figure, point.error);
      if (point.figure == ServedFigure::kThroughput && !timed.contains(point.row))
        add(set, point, ServedFigure::kTpot, point.measured / point.predicted - 1);
    }
  }
  std::vector<ServedKindError> out;
  for (auto& [name, errors] : by_kind) {
    std::tie(errors.of.share, errors.of.sources) = widest(errors.by_source);
    out.push_back(errors.of);
  }
  return out;
}

}  // namespace orrery::verbs

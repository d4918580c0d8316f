// Figures of any SRAM, between the points of a table.
//
// CACTI's figures are smooth while its organisation stays the same and jump where another wins: read energies drawn
// straight from point to point miss by up to a third. So the surface predicts each organisation by itself and lets
// them compete by CACTI's own rule.
//
//   candidates  organisations that the table has within half an octave and that come out even here
//               (sram_organisation.h); where there is none, within the reach of 1.6 octaves
//   figures     log f = trend + d,  trend as in sram_trend.h, d the residual of nearby rows of the same organisation:
//   least squares over (1, log2 words, log2 width, row address bits), slopes held back by a
//               ridge, weight of a row at distance r: (r^2 + 1e-4)^-1.5 (1 - r^2 / reach^2)^2
//   winner      the least read energy x access time^2, times e^(0.25 x distance to the nearest row of its own): a
//   distant figure is less certain, and the minimum of many uncertain ones is biased low
//
// At a point of the table, the row itself answers. Distances are in octaves of words per bank and of width. Its
// accuracy is in docs/model/energy.md. Cost: about 10 us a point.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/describe/energy/sram/sram_grid.h"
#include "orrery/describe/energy/sram/sram_table.h"
#include "orrery/describe/energy/sram/sram_trend.h"

namespace orrery::energy {

// Costs this near (of their logarithms) do not tell which organisation CACTI takes: of the memories measured, a third
// or more have another one.
inline constexpr double kContested = 0.015;

// kTable: CACTI's own figures, from the table or a run.
enum class SramOrigin { kTable, kOrganisation, kGrid };

struct SramEstimate {
  SramFigures figures{};
  SramOrigin origin = SramOrigin::kTable;
  SramOrganisation organisation;  // all 0 where it is not known
  // The largest difference of each figure, in percent, to an organisation whose cost is within kContested of the least;
  // all 0 where there is none.
  SramFigures contested_percent{};
};

struct SramRange {
  base::Count least_bytes = 0, most_bytes = 0;
  int least_bits = 0, most_bits = 0;
};

class SramSurface {
 public:
  explicit SramSurface(SramTable table);

  int technology_nm() const { return table_.technology_nm; }
  const SramTable& table() const { return table_; }

  // What `at` covers with these banks and ports; null where the table has none.
  const SramRange* range(int banks, int ports) const;

  // Nothing outside the range, for banks and ports that the table does not know, and for fewer than 32 words a
  // bank, which CACTI cannot build.
  std::optional<SramEstimate> at(const SramPoint& point) const;
  // The same as if the table had no rows at this point: what cross-validation asks.
  std::optional<SramEstimate> left_out(const SramPoint& point) const;

 private:
  struct Sample {
    double words = 0;  // log2 of words per bank
    double width = 0;  // log2 of bits
    int address_bits = 0;
    SramFigures rest{};  // logarithms on top of the trend
  };
  using Samples = std::map<std::pair<int, SramOrganisation>, std::vector<Sample>>;  // by banks and organisation
  struct Group {
    int banks = 0;
    SramOrganisation organisation;
    std::vector<Sample> samples;
  };
  struct Candidate {
    SramFigures logarithms{};
    double cost = 0;
  };
  void add_samples(const std::vector<SramRow>& rows, Samples& samples) const;
  std::optional<Candidate> candidate(const Group& group, const SramPoint& point, double near,
                                     bool without_its_rows) const;
  std::optional<SramEstimate> between_rows(const SramPoint& point, bool without_its_rows) const;
  bool covers(const SramPoint& point) const;

  SramTable table_;  // sorted
  SramTrend trend_;
  SramGrid grid_;
  std::vector<Group> groups_;
  std::map<std::pair<int, int>, SramRange> ranges_;  // by banks and ports
};

}  // namespace orrery::energy

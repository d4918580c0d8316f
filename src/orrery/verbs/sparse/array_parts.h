// The accelerator taken apart into what estimators know, and how often each part worked in a run.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/accelerator/simulate.h"
#include "orrery/verbs/sparse/array_price.h"

namespace orrery::verbs {

// `dram`: a type of catalog/tables/dram.csv.
std::vector<ArrayPart> array_parts(const accelerator::Instance& instance, const accelerator::Simulation& run,
                                   const std::string& dram);

// What these figures assume and leave out, a sentence each.
std::vector<std::string> array_price_remarks();

// What others say of the silicon of Sanger's own array, 64 x 16 PEs; nothing of it is computed here.
struct PublishedSilicon {
  double power_w = 0, area_um2 = 0, frequency_hz = 0;
  std::string technology, source;
};
PublishedSilicon published_silicon();

}  // namespace orrery::verbs

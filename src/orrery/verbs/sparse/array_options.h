// What a simulated accelerator is and what it runs, as `sparse simulate` and `sparse design` are told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/cli/command_line.h"
#include "orrery/verbs/sparse/accelerator_run.h"

namespace orrery::verbs {

struct ArrayInputOptions {
  std::optional<base::Count> size;
  std::optional<double> threshold;
  std::optional<float> query_clip, key_clip;
  std::optional<masks::Normalise> normalise;
};

// Masks, arrays or a model; `bits` of codes are declared by the verb.
void declare_array_input(CommandLine& line, ArrayCasesRequest& request, ArrayInputOptions& options);
// Throws InputError O1103 where nothing is given, or things that exclude each other.
void settle(const ArrayInputOptions& options, ArrayCasesRequest& request);

// What is the same for every point of a design; `built`: of the hardware, which has not all of it.
void declare_machine(CommandLine& line, ArrayChoice& choice, masks::PackEffort& effort, bool built = false);

// Throws InputError O1103 where an effort is given and nothing is packed before.
void check_effort(const masks::PackEffort& effort, const std::vector<std::string>& packings);

// Single values; a list is one after another. Throw InputError: O1102; O1897 (frequencies and bandwidths).
base::Count code_bits_of(const std::string& text);
double frequency_of(const std::string& text);
double bandwidth_of(const std::string& text);
std::string array_packing_of(const std::string& text);

}  // namespace orrery::verbs

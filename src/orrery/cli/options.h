// What the command line said, as plain data. arguments.h fills these; one file a verb acts on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/cost/budget.h"
#include "orrery/dataflow/setup.h"
#include "orrery/nest/search.h"
#include "orrery/scenario/estimators.h"
#include "orrery/scenario/generate_graph.h"
#include "orrery/scenario/train.h"

namespace orrery::cli {

struct CommonOptions {
  bool json = false;
  bool quiet = false;                         // no warnings, no progress
  bool colour = false;                        // of messages; decided from the terminal, NO_COLOR and --no-color
  std::string compat;                         // the original to reproduce, "timeloop" or "factorflow"; empty: none
  nest::ModelOptions model_options;           // what it stands for
  scenario::EstimatorSetup estimators;        // for chips without an ERT; `--compat accelergy-0.4` among it
  int threads = 0;                            // 0: as a `mapper` document says, else 1
  std::uint64_t seed = 0;                     // ignored: no verb draws random numbers
  double time_limit = 0;                      // seconds for each layer; 0: none
  std::size_t memory = cost::kDefaultMemory;  // bytes of the whole process while it searches
  std::string directory;                      // -o; empty: no files are written
  bool force = false;                         // overwrite results in it
  std::vector<std::pair<std::string, std::string>> overrides;  // --set path=value
  std::vector<nest::Metric> objective;                         // empty: as the documents say, else edp
  std::vector<std::string> ignored;                            // --ignore: keys of a model's config.json
};

// Outputs[M][N] += Weights[K][M] * Inputs[K][N].
struct Gemm {
  base::Count m = 1, k = 1, n = 1;
};

struct MapOptions : CommonOptions {
  std::vector<std::string> files;
  std::vector<std::string> chips;  // catalogue names or paths
  std::string model;               // catalogue name or path; empty: the files' problems
  std::string layer;               // only this one
  std::optional<base::Count> sequence;
  base::Count batch = 1;
  std::vector<Gemm> gemms;  // instead of a model or problems
  bool pareto = false;      // the whole trade-off between energy and cycles
  std::string why;          // a choice to force; empty: none
  bool certify = false;
};

struct EvalOptions : CommonOptions {
  std::vector<std::string> files;
  std::vector<std::string> chips;
  bool strict = false;
};

struct ValidateOptions : CommonOptions {
  std::string subject;            // "train"
  std::vector<std::string> sets;  // empty: all
  bool all = false;               // every point, not only the worst of each set
};

struct CheckOptions : CommonOptions {
  std::vector<std::string> files;
};

struct EnergyOptions : CommonOptions {
  std::vector<std::string> files;
  std::vector<std::string> chips;
};

struct TrainOptions : CommonOptions {
  scenario::TrainRequest request;  // what to train, on what, spread how
  std::string trace;               // Perfetto trace of one iteration; empty: none
  // AMPeD's own interface.
  bool amped = false;              // --equations amped
  std::vector<std::string> files;  // config.json
  std::string config_flat;         // the flat parameters instead; empty: none
  std::string lookup_tables;       // --tables
  bool gemm = false;               // gemm_breakdown.txt
  bool compute_graph = false;      // compute_graph.txt
  bool mat_dims = false;           // mat_dims.txt
  bool search = false;             // all permutations of batch size and degrees
};

struct GraphOptions : CommonOptions {
  scenario::GraphRequest request;
  std::string format;  // "prototext", "json", "dot", "svg"; empty: as the suffix of -o says, else prototext
};

struct PlaceOptions : CommonOptions {
  std::string file;  // setup.txt, or a folder with user_input/setup.txt
  dataflow::Generation generation = dataflow::Generation::kCorrected;
  std::string measurements;  // timings of matrix products; empty: peak times compute_util
  double gap = 0;            // accept an answer within this share of the optimum
  bool log = false;          // DFModel's log instead of the table
  std::string dot, svg;      // files to draw the graph into; empty: none
};

struct ExplainOptions : CommonOptions {
  std::string code;  // empty: list them
};

struct SchemaOptions : CommonOptions {
  std::string name;  // empty: list them
};

struct DoctorOptions : CommonOptions {};

struct CatalogOptions : CommonOptions {
  std::string name;  // empty: list
};

// A text to print as it is: help or the version.
struct PrintOptions : CommonOptions {
  std::string text;
};

using Command =
    std::variant<PrintOptions, MapOptions, EvalOptions, EnergyOptions, CheckOptions, TrainOptions, ValidateOptions,
                 PlaceOptions, GraphOptions, ExplainOptions, SchemaOptions, DoctorOptions, CatalogOptions>;

}  // namespace orrery::cli

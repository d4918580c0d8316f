#include "orrery/formats/dfmodel/setup_schema.h"

#include <sstream>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::dfmodel {

namespace {

struct Row {
  const char* name;
  const char* fields;  // "name tag [type]", separated by commas
};

// Types: an integer where none is given, `f` float, `d` double (where DFModel's type is not known: it takes
// whole numbers and others as they are), `b` bool, `s` string, a name of kChoices, a name of kBlocks, or
// `*` and a name of kBlocks for repeated blocks.
//
// Tags that are not known and stand on free numbers: `miscellany`, `turn_off_p_and_r`, all of `Grid4`,
// `link_unit_power_w`. Orrery's own are `compute_util` of a kernel, `whole_kernels` and
// `stream_weights`. `perfect_overlap` and `overlap` have the tag 16 in their generations; here the older one has a
// free number.
constexpr Row kChoices[] = {
    {"Direction", "FWD BWD"},
    {"Unit", "SYSTOLIC SIMD"},
    {"Sharding", "OUTER_SHARDING M_SHARDING K_SHARDING N_SHARDING NO_SHARDING"},
    {"Tiling", "OUTER_TILING M_TILING K_TILING N_TILING NO_TILING"},
    {"CommunicationType", "ALL_REDUCE ALL_TO_ALL ALL_GATHER ALL_REDUCE_PERIODIC POINT_TO_POINT BROADCAST"},
    {"LaneStageType", "LANE STAGE"},
    {"ExecutionStyle", "DATAFLOW KERNEL_BY_KERNEL"},
    {"OverlapType", "PERFECT_OVERLAP NO_OVERLAP OVERLAP_COMPUTE_MEMORY"},
};

#define ORRERY_DFMODEL_BODY                                                                                          \
  "output_tensor_size 9 f, sharding 12 Sharding, communication_type 13 CommunicationType, communication_size 14 f,"  \
  "shard_outer_M 16, shard_N 18, tiling 20 Tiling, memory_size 100 f, communication_type_2 200 CommunicationType,"   \
  "communication_size_2 300 f, num_input 2000, sram_extra 10000 d, dram_extra 10001 d, compute_util 10017 d, outer " \
  "1, M 2, N 4"

constexpr Row kBlocks[] = {
    {"Setup",
     "dataflow_graph 1 DataflowGraph, system 2 System, cost 3 Cost, execution 4 Execution, gurobi 5 Gurobi,"
     "miscellany 104 Execution"},
    {"DataflowGraph", "kernels 1 *Kernel, connections 2 *Connection"},
    {"Kernel",
     "name 1 s, id 2, topological_number 3, config 4, fwd_bwd 5 Direction, type 6 Unit,"
     "gemm_input1_weight 7 GemmInput1Weight, gemm_input1_input2 8 GemmInput1Input2,"
     "elementwise_input1 9 ElementwiseInput1, elementwise_input1_input2 10 ElementwiseInput1Input2"},
    {"GemmInput1Weight",
     "K 3, input_tensor_size 6 f, weight_tensor_size 8 f, shard_K 17, skip_weight 1000 b,"
     "use_effective_stage 1001 b," ORRERY_DFMODEL_BODY},
    {"GemmInput1Input2", "K 3, input_tensor_1_size 6 f, input_tensor_2_size 8 f, shard_K 17," ORRERY_DFMODEL_BODY},
    {"ElementwiseInput1", "input_tensor_size 6 f," ORRERY_DFMODEL_BODY},
    {"ElementwiseInput1Input2", "input_tensor_1_size 6 f, input_tensor_2_size 30 f," ORRERY_DFMODEL_BODY},
    {"Connection",
     "startIdx 1, endIdx 2, communication_type 4 CommunicationType, communication_size 5 f, buffer_depth 6,"
     "tensor_size 7 f, shard_tensor_size 8 f, id 10, startName 11 s, endName 12 s, lane_stage_type 20 LaneStageType,"
     "communication_type_2 999 CommunicationType, zero_out 9999 b"},
    {"System",
     "num_chip 1, accelerator 2 Accelerator, r 4 Grid1, sw 5 Grid1, fc 6 Grid1, r_r 7 Grid2, r_fc 8 Grid2,"
     "r_sw 9 Grid2, sw_sw 10 Grid2, fc_fc 11 Grid2, r_r_r 12 Grid3, r_sw_sw 13 Grid3, sw_sw_sw 14 Grid3,"
     "r_r_r_r 15 Grid4, memory 100 Memory, HBD 110"},
    {"Grid1", "x 100, link_bw_x 101 f, par_x 102 s"},
    {"Grid2", "x 100, y 101, link_bw_x 102 f, link_bw_y 103 f, par_x 104 s, par_y 105 s"},
    {"Grid3",
     "x 100, y 101, z 102, link_bw_x 103 f, link_bw_y 104 f, link_bw_z 105 f, par_x 106 s, par_y 107 s, par_z 108 s"},
    {"Grid4",
     "x 100, y 101, z 102, w 103, link_bw_x 104 f, link_bw_y 105 f, link_bw_z 106 f, link_bw_w 107 f, par_x 108 s,"
     "par_y 109 s, par_z 110 s, par_w 111 s"},
    {"Accelerator",
     "core 2, systolic_width 3, systolic_height 4, sram_cap 5 f, pmu 6, pmu_cap 7 f, x 8, y 9, freq 10 f,"
     "placement 12 s, link_latency 1111 f"},
    {"Memory", "dram_bw 1 f, dram_cap 2 f, second_dram_bw 3 f, second_dram_cap 4 f"},
    {"Cost",
     "link_unit_price 1 f, switch_unit_price 2 f, dram_unit_price 3 f, accelerator_price 4 f, link_unit_power_x 5 f,"
     "link_unit_power_y 6 f, link_unit_power_z 7 f, switch_unit_power 8 f, dram_unit_power 9 f,"
     "accelerator_power 10 f, link_unit_power_w 11 f"},
    {"Execution",
     "llm 7 LLM, dlrm 8 DLRM, hpl 9 HPL, fft 10 FFT, gemm_fft_llm 11 RegularFFT, vector_fft_llm 12 VectorFFT,"
     "regular_fft_llm 13 RegularFFT, mamba 21 Mamba, execution_style 14 ExecutionStyle, num_config 15,"
     "overlap 16 OverlapType, perfect_overlap 10016 b, compute_util 17 f, word 18, effective_stage 20,"
     "separate_rs_ag_for_ar 100 b, skip_inter_chip_optimization 1000 b, turn_off_p_and_r 10000 b,"
     "optimization 10001 s, whole_kernels 10018 b, stream_weights 10019 b"},
    {"LLM",
     "hidden_dim 1, head_dim 2, num_head 3, seq_len 4, num_layer 5, global_batch_size 11, micro_batch_size 12,"
     "tile_size 13, num_layer_in_graph 15"},
    {"DLRM", "num_table 6, emb_dim 7, row 8, global_batch_size 11, num_copy 12"},
    {"HPL", "n 1, b 2, num_copy 3"},
    {"FFT", "length 1, num_copy 2"},
    {"RegularFFT", "hidden 1, seq_len 2"},
    {"VectorFFT", "hidden 1, seq_len 2, effective_stage 3"},
    {"Mamba", "hidden 1, seq_len 2, tile_size 3, effective_stage 4"},
    {"Gurobi", "thread 1, gap 2 f, time 3"},
};

#undef ORRERY_DFMODEL_BODY

FieldType field_of(const std::string& row, const Schema& tables) {
  std::istringstream in(row);
  FieldType field;
  std::string type;
  in >> field.name >> field.tag >> type;
  if (type.empty()) return field;
  if (type == "f" || type == "d") {
    field.kind = FieldKind::kReal;
    field.wide = type == "d";
  } else if (type == "b") {
    field.kind = FieldKind::kFlag;
  } else if (type == "s") {
    field.kind = FieldKind::kText;
  } else {
    field.repeated = type.front() == '*';
    if (field.repeated) type.erase(0, 1);
    field.block = tables.find(type);
    field.kind = field.block ? FieldKind::kBlock : FieldKind::kChoice;
    for (const ChoiceType& choices : tables.choices)
      if (choices.name == type) field.choices = &choices;
    ORRERY_CHECK(field.block || field.choices, "a type that the tables do not know: " + type);
  }
  return field;
}

Schema build() {
  Schema tables;
  for (const Row& row : kChoices) {
    ChoiceType& choices = tables.choices.emplace_back();
    choices.name = row.name;
    std::istringstream in(row.fields);
    for (std::string value; in >> value;) choices.values.push_back(value);
  }
  // All names first: fields point to blocks that come later.
  for (const Row& row : kBlocks) tables.blocks.push_back({row.name, {}});
  for (std::size_t i = 0; i < tables.blocks.size(); ++i) {
    for (const std::string_view field : base::split(kBlocks[i].fields, ','))
      tables.blocks[i].fields.push_back(field_of(std::string(field), tables));
  }
  return tables;
}

}  // namespace

const FieldType* BlockType::find(std::string_view field) const {
  for (const FieldType& candidate : fields)
    if (candidate.name == field) return &candidate;
  return nullptr;
}

std::vector<std::string> BlockType::field_names() const {
  std::vector<std::string> names;
  for (const FieldType& field : fields) names.push_back(field.name);
  return names;
}

const BlockType* Schema::find(std::string_view block) const {
  for (const BlockType& candidate : blocks)
    if (candidate.name == block) return &candidate;
  return nullptr;
}

const FieldType* Schema::find_field(std::string_view field) const {
  for (const BlockType& block : blocks)
    if (const FieldType* found = block.find(field)) return found;
  return nullptr;
}

const Schema& schema() {
  static const Schema built = build();
  return built;
}

const std::vector<std::string>& topology_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const FieldType& field : schema().find("System")->fields)
      if (field.block && field.block->name.starts_with("Grid")) found.push_back(field.name);
    return found;
  }();
  return names;
}

const std::vector<std::string>& workload_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const FieldType& field : schema().find("Execution")->fields)
      if (field.block) found.push_back(field.name);
    return found;
  }();
  return names;
}

}  // namespace orrery::formats::dfmodel

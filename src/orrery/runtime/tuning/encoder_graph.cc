// Substation's encoder layer as tables: what its files call tensors, operators and columns cannot be derived. What its
// kernels compute, and that they are what a rule of fusion makes of thirty elementary operators, is in
// layer_operators.h and fusion.h; a test holds both together.
#include <sstream>
#include <tuple>

#include "orrery/base/diagnostics/check.h"

#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {
namespace {

struct VariableRow {
  const char* names;
  const char* dims;
  Role role;
};
constexpr VariableRow kVariables[] = {
    {"X", "ibj", Role::kInput},
    {"SB2", "bji", Role::kOutput},
    {"DSB2", "bji", Role::kInput},
    {"DX", "ibj", Role::kOutput},
    {"WKQV", "qphi", Role::kWeight},
    {"BK BV BQ", "ph", Role::kWeight},
    {"WO", "phi", Role::kWeight},
    {"LINW1", "ui", Role::kWeight},
    {"LINB1", "u", Role::kWeight},
    {"LINW2", "iu", Role::kWeight},
    {"BO S1 B1 LINB2 S2 B2", "i", Role::kWeight},
    {"DWKQV", "qphi", Role::kGradient},
    {"DBK DBV DBQ", "ph", Role::kGradient},
    {"DWO", "phi", Role::kGradient},
    {"DLINW1", "ui", Role::kGradient},
    {"DLINB1", "u", Role::kGradient},
    {"DLINW2", "iu", Role::kGradient},
    {"DBO DS1 DB1 DLINB2 DS2 DB2", "i", Role::kGradient},
    {"WKKWQQWVV", "qphbj", Role::kBetween},
    {"WQQ", "phbj", Role::kBetween},
    {"WKK WVV", "phbk", Role::kBetween},
    {"QQ", "phbj", Role::kSaved},
    {"KK VV", "phbk", Role::kSaved},
    {"BETA", "hbjk", Role::kBetween},
    {"ALPHA ATTN_DROP_MASK ATTN_DROP", "hbjk", Role::kSaved},
    {"GAMMA", "phbj", Role::kSaved},
    {"ATT", "bij", Role::kBetween},
    {"SB1 LN1DIFF DROP1MASK", "bji", Role::kSaved},
    {"LN1 LN2", "bji", Role::kSaved},
    {"LN1STD LN2STD", "bj", Role::kSaved},
    {"SB1_LINW1", "bju", Role::kBetween},
    {"DROP2 DROP2MASK LIN1", "bju", Role::kSaved},
    {"DROP2_LINW2 LIN2", "bji", Role::kBetween},
    {"LN2DIFF DROP3MASK", "bji", Role::kSaved},
    {"DLN2 DRESID2 DLIN2", "bji", Role::kBetween},
    {"DDROP2 DLIN1", "bju", Role::kBetween},
    {"DLIN1_LINW1 DLN1 DRESID1", "bji", Role::kBetween},
    {"DATT", "bij", Role::kBetween},
    {"DGAMMA", "phbj", Role::kBetween},
    {"DATTN_DROP DBETA", "hbjk", Role::kBetween},
    {"DVV DKK", "phbk", Role::kBetween},
    {"DQQ", "phbj", Role::kBetween},
    {"DKKQQVV", "qphbj", Role::kBetween},
    {"DXATT", "ibj", Role::kBetween},
};

struct ContractionRow {
  const char* name;
  const char* einsum;
  const char* operands;  // first, second, result
  bool scaled = false;
};
struct KernelRow {
  const char* name;
  const char* kernel;
  const char* inputs;  // VARIABLE:column; ! behind what is overwritten
  const char* outputs;
  const char* specials;  // name:column, or name alone where both are the same
};
struct PartsRow {
  const char* name;
  Kind kind;
  const char* benchmarks;
  const char* inputs;
  const char* outputs;
};

constexpr const char* kForward = "QKV-fused QKV-split aib QKT softmax gamma out bdrln1 lin1 bad lin2 bdrln2";
constexpr const char* kBackward =
    "bsb blnrd1 dXlin2 dWlin2 bdrlb dXlin1 dWlin1 ebsb blnrd2 baob dXout dWout dX1gamma dX2gamma bs dX1QKT dX2QKT "
    "QKV-merge dXQKV-fused dWQKV-fused baib bei";

constexpr ContractionRow kContractions[] = {
    {"QKV-fused", "qphi,ibj->qphbj", "WKQV X WKKWQQWVV"},
    {"QKT", "phbk,phbj->hbjk", "KK QQ BETA", true},
    {"gamma", "phbk,hbjk->phbj", "VV ATTN_DROP GAMMA"},
    {"out", "phi,phbj->bij", "WO GAMMA ATT"},
    {"lin1", "bji,ui->bju", "SB1 LINW1 SB1_LINW1"},
    {"lin2", "bju,iu->bji", "DROP2 LINW2 DROP2_LINW2"},
    {"dXlin2", "bji,iu->bju", "DLIN2 LINW2 DDROP2"},
    {"dWlin2", "bji,bju->iu", "DLIN2 DROP2 DLINW2"},
    {"dXlin1", "bju,ui->bji", "DLIN1 LINW1 DLIN1_LINW1"},
    {"dWlin1", "bju,bji->ui", "DLIN1 SB1 DLINW1"},
    {"dXout", "phi,bij->phbj", "WO DATT DGAMMA"},
    {"dWout", "phbj,bij->phi", "GAMMA DATT DWO"},
    {"dX1gamma", "phbk,phbj->hbjk", "VV DGAMMA DATTN_DROP"},
    {"dX2gamma", "phbj,hbjk->phbk", "DGAMMA ATTN_DROP DVV"},
    {"dX1QKT", "phbk,hbjk->phbj", "KK DBETA DQQ", true},
    {"dX2QKT", "phbj,hbjk->phbk", "QQ DBETA DKK", true},
    {"dXQKV-fused", "qphi,qphbj->ibj", "WKQV DKKQQVV DXATT"},
    {"dWQKV-fused", "ibj,qphbj->qphi", "X DKKQQVV DWKQV"},
};

constexpr KernelRow kKernels[] = {
    {"aib", "aib", "WKK:wkk BK:bk WVV:wvv BV:bv WQQ:wqq BQ:bq", "KK:kk VV:vv QQ:qq", "dv dt"},
    {"softmax", "softmax", "BETA:in", "ALPHA:out ATTN_DROP_MASK:drop_mask ATTN_DROP:drop", "dv:vec_dim"},
    {"bdrln1", "bdrln", "ATT:drop2_linw2 X:sb1 S1:s2 B1:b2 BO:linb2 ATT:lin2!",
     "SB1:sb2 LN1:ln2 LN1DIFF:ln2diff LN1STD:ln2std DROP1MASK:drop3mask", "dv:vec_dim"},
    {"bad", "bad", "SB1_LINW1:sb1_linw1 LINB1:linb1", "DROP2:drop2 DROP2MASK:drop2mask LIN1:lin1",
     "dv:vec_dim dt:thread_dim"},
    {"bdrln2", "bdrln", "DROP2_LINW2:drop2_linw2 SB1:sb1 S2:s2 B2:b2 LINB2:linb2",
     "SB2:sb2 LN2:ln2 LIN2:lin2 LN2DIFF:ln2diff LN2STD:ln2std DROP3MASK:drop3mask", "dv:vec_dim"},
    {"bsb", "bsb", "LN2:ln2 S2:s2 DSB2:dsb2", "DLN2:dln2 DS2:ds2 DB2:db2", "dv:vec_dim dw:warp_dim"},
    {"blnrd1", "blnrd", "DLN2:dln2 LN2STD:ln2std LN2DIFF:ln2diff DROP3MASK:drop3mask", "DRESID2:dresid2 DLIN2:dlin2",
     "dv:vec_dim"},
    {"bdrlb", "bdrlb", "DDROP2:ddrop2 DROP2MASK:drop2mask LIN1:lin1", "DLIN1:dlin1 DLINB1:dlinb1",
     "dv:vec_dim dw:warp_dim"},
    {"ebsb", "ebsb", "LN1:ln1 S1:s1 DRESID2:dresid2 DLIN1_LINW1:dlin1_linw1 DLIN2:dlin2",
     "DLINB2:dlinb2 DS1:ds1 DB1:db1 DLN1:dln1", "dv:vec_dim dw:warp_dim"},
    {"blnrd2", "blnrd", "DLN1:dln2 LN1STD:ln2std LN1DIFF:ln2diff DROP1MASK:drop3mask", "DRESID1:dresid2 DATT:dlin2",
     "dv:vec_dim"},
    {"baob", "baob", "DATT:datt", "DBO:dbo", "dv dw"},
    {"bs", "bs", "ALPHA:alpha ATTN_DROP_MASK:drop_mask DATTN_DROP:drop", "DBETA:dbeta", "dv:vec_dim"},
    {"baib", "baib", "DKK:dkk DVV:dvv DQQ:dqq", "DBK:dbk DBV:dbv DBQ:dbq", "dv dw"},
    {"bei", "bei", "DXATT:dxatt DRESID1:dresid1", "DX:dx", "dt dv"},
};

constexpr PartsRow kParts[] = {
    {"QKV-split", Kind::kSplit, "QKV-fused", "WKKWQQWVV", "WQQ WKK WVV"},
    {"QKV-merge", Kind::kMerge, "dX2gamma dX1QKT dX2QKT", "DQQ DKK DVV", "DKKQQVV"},
};

constexpr std::pair<const char*, const char*> kEqual[] = {
    {"SB2", "X"},        {"DSB2", "DX"}, {"DX", "X"},         {"DSB2", "SB2"},     {"DWKQV", "WKQV"},
    {"BK", "DBK"},       {"BV", "DBV"},  {"BQ", "DBQ"},       {"DWO", "WO"},       {"BO", "DBO"},
    {"DS1", "S1"},       {"B1", "DB1"},  {"DLINW1", "LINW1"}, {"DLINB1", "LINB1"}, {"DLINW2", "LINW2"},
    {"DLINB2", "LINB2"}, {"DS2", "S2"},  {"B2", "DB2"}};

constexpr const char* kCombined[] = {"dXlin2 dWlin2", "dXlin1 dWlin1",  "dXout dWout baob",       "dX1gamma dX2gamma",
                                     "dX1QKT dX2QKT", "QKV-merge baib", "dXQKV-fused dWQKV-fused"};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// "a:b" as both; "a" as itself twice.
std::pair<std::string, std::string> pair_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Kernels of the stack of keys, queries and values have one letter for positions.
std::string without_k(std::string dims) {
  for (char& letter : dims)
    if (letter == 'k') letter = 'j';
  return dims;
}

std::vector<Use> uses_of(const Graph& graph, const std::string& text, bool one_position) {
  std::vector<Use> uses;
  for (const std::string& word : words_of(text)) {
    Use use;
    std::tie(use.variable, use.column) = pair_of(word);
    if (use.column.ends_with('!')) {
      use.overwritten = true;
      use.column.pop_back();
    }
    const std::string& dims = graph.variable(use.variable)->dims;
    use.dims = one_position ? without_k(dims) : dims;
    uses.push_back(std::move(use));
  }
  return uses;
}

Operator contraction(const ContractionRow& row) {
  Operator out{.name = row.name, .kind = Kind::kContraction, .benchmarks = {row.name}, .einsum = row.einsum};
  out.scaled = row.scaled;
  const std::vector<std::string> operands = words_of(row.operands);
  const std::string einsum = row.einsum;
  const std::size_t comma = einsum.find(','), arrow = einsum.find("->");
  out.inputs = {{operands[0], "A", einsum.substr(0, comma)},
                {operands[1], "B", einsum.substr(comma + 1, arrow - comma - 1)}};
  out.outputs = {{operands[2], "C", einsum.substr(arrow + 2)}};
  out.specials = {{"Implementation", "Implementation"}};
  return out;
}

Operator kernel(const Graph& graph, const KernelRow& row) {
  Operator out{.name = row.name, .kind = Kind::kKernel, .benchmarks = {row.kernel}};
  const bool one_position = out.name == "aib" || out.name == "baib";
  out.inputs = uses_of(graph, row.inputs, one_position);
  out.outputs = uses_of(graph, row.outputs, one_position);
  for (const std::string& word : words_of(row.specials)) {
    const auto [name, column] = pair_of(word);
    out.specials.push_back({name, column});
  }
  return out;
}

Operator parts(const Graph& graph, const PartsRow& row) {
  Operator out{.name = row.name, .kind = row.kind, .benchmarks = words_of(row.benchmarks)};
  out.inputs = uses_of(graph, row.inputs, false);
  out.outputs = uses_of(graph, row.outputs, false);
  for (std::vector<Use>* uses : {&out.inputs, &out.outputs})
    for (Use& use : *uses) use.column.clear();
  return out;
}

Operator operator_named(const Graph& graph, const std::string& name) {
  for (const ContractionRow& row : kContractions)
    if (name == row.name) return contraction(row);
  for (const PartsRow& row : kParts)
    if (name == row.name) return parts(graph, row);
  for (const KernelRow& row : kKernels)
    if (name == row.name) return kernel(graph, row);
  base::fail_check("a row of this name", __FILE__, __LINE__, "no operator is called " + name);
}

}  // namespace

Graph encoder_graph(const Sizes& sizes) {
  Graph graph{.sizes = sizes};
  for (const VariableRow& row : kVariables)
    for (const std::string& name : words_of(row.names)) graph.variables.push_back({name, row.dims, row.role});
  for (const bool backward : {false, true})
    for (const std::string& name : words_of(backward ? kBackward : kForward)) {
      graph.operators.push_back(operator_named(graph, name));
      graph.operators.back().backward = backward;
    }
  for (const auto& [one, other] : kEqual) graph.equal.emplace_back(one, other);
  for (const char* names : kCombined) graph.combined_backward.push_back(words_of(names));
  graph.forward_input = "X";
  graph.forward_output = "SB2";
  graph.backward_input = "DSB2";
  graph.backward_output = "DX";
  return graph;
}

}  // namespace orrery::tuning

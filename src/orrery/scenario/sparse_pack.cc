#include "orrery/scenario/sparse_pack.h"

#include <charconv>
#include <filesystem>

#include <fmt/format.h>

namespace orrery::scenario {
namespace {

using base::Count;
namespace fs = std::filesystem;

// The first of these files in a folder; empty: none.
std::string file_in(const fs::path& folder, std::initializer_list<const char*> names) {
  std::error_code failed;
  for (const char* name : names)
    if (fs::exists(folder / name, failed)) return (folder / name).string();
  return {};
}

// A folder stands for its mask, and for the valid tokens beside it.
void open_case(SparsePackRequest& request) {
  std::error_code failed;
  if (!fs::is_directory(request.mask, failed)) return;
  const fs::path folder = request.mask;
  request.mask = file_in(folder, {"mask_packed_le.npy", "mask.npy"});
  if (request.mask.empty())
    base::fail(
        "O1838", fmt::format("the folder `{}` has no mask", folder.string()), {},
        "a case has mask_packed_le.npy or mask.npy, and attn_valid.npy where tokens are missing; or name the file");
  if (request.valid.empty()) request.valid = file_in(folder, {"attn_valid.npy"});
}

}  // namespace

sparse::PackArray pack_array(const std::string& text) {
  Count sizes[3] = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, failure] = std::from_chars(at, end, sizes[i]);
    if (failure != std::errc() || (i < 2 ? next == end || *next != 'x' : next != end))
      base::fail("O1836", fmt::format("`{}` is no array", text), {},
                 "write PE rows x PEs of a row x column ports, as 64x16x64, the published one");
    at = next + 1;
  }
  const sparse::PackArray array{sizes[0], sizes[1], sizes[2]};
  base::Diagnostics found;
  const auto within = [&](Count size, Count most, const char* what) {
    if (size >= 1 && size <= most) return;
    found.error("O1837", fmt::format("an array of {} {}: 1 to {} are modelled", size, what, most))
        .hint("the published array is 64x16x64: PE rows, PEs of a row, column ports");
  };
  within(array.rows, sparse::kMostPackRows, "PE rows");
  within(array.pes, sparse::kMostPackPes, "PEs a row");
  within(array.ports, sparse::kMostPackPorts, "column ports");
  if (!found.has_errors() && array.ports < array.pes)
    found.error("O1837", fmt::format("{} PEs a row and {} column ports", array.pes, array.ports))
        .note(
            "each PE of a row takes a port of its own, also when it is idle: the delays of the output chain add up "
            "to ports - PEs")
        .hint("give at least as many ports as PEs");
  found.throw_if_errors();
  return array;
}

SparsePack pack_sparse(const SparsePackRequest& asked) {
  SparsePackRequest request = asked;
  open_case(request);
  SparsePack out;
  out.array = request.array;
  base::Input input;
  sparse::Mask mask = read_mask(request.mask, request.columns, &input);
  out.inputs.push_back(input);
  SparseArrayFiles valid;
  valid.valid = request.valid;
  valid.causal = request.causal;
  apply_valid(mask, valid, out.inputs);
  const sparse::Mask inside = sparse::inside_valid(mask);
  out.shape = mask.shape();
  out.kept = inside.kept();
  out.kept_outside = mask.kept() - out.kept;
  out.pairs = mask.valid_pairs();
  if (out.kept_outside > 0)
    out.warnings
        .warning("O1819",
                 fmt::format("`{}` keeps {} pairs of query and key that are not there", request.mask, out.kept_outside))
        .note("padding (`--valid`) and what lies beyond the diagonal (`--causal`) are left out of every figure");
  const cost::Budget budget(request.limits);
  for (const std::string& name : sparse::packing_names()) {
    sparse::Packing* const packing = name == "orrery" ? &out.packing : nullptr;
    out.schemes.push_back(sparse::pack_by(name, inside, request.array, budget, request.effort, packing));
  }
  out.design = sparse::array_design(request.array);
  out.interrupted = budget.interrupted();
  return out;
}

}  // namespace orrery::scenario

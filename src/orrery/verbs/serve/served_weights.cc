// A checkpoint converts parts of a layer: experts alone, or all but attention. Of each part, its bytes are shared among
// its weights, those that stay in 16 bits among them, so that sums are the file's; products are in the converted format
// where that has most of the part.
//
// A format that is asked for has, of a weight, the bytes of its files:
//
//   fp8            1 + 4 / 128^2        a scale of 32 bits for each block (arXiv 2412.19437)
//   mxfp4          1/2 + 1 / 32         of 8 bits for 32 weights (OCP Microscaling, 2023); experts alone, as published
//   nvfp4          1/2 + 1 / 16         of 8 bits for 16 weights (arXiv 2509.25149)
//   int4           1/2 + 20 / 8 / 128   AWQ and GPTQ: of 128 weights a scale of 16 bits and a zero of 4
//
// Example: gpt-oss-20b has 19.1 billion weights in experts, 0.53 bytes each, and 1.8 billion in 16 bits: 13.8 GB.
#include "orrery/verbs/serve/served_weights.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

using base::Count;
using formats::huggingface::StoredKind;
using formats::huggingface::StoredPart;
using formats::huggingface::StoredWeights;
using machine::Precision;
using serving::Part;
using serving::ServedLayers;
using serving::Stored;

struct Asked {
  const char* name;
  Stored stored;
};

Asked asked_of(StoredAs as) {
  switch (as) {
    case StoredAs::kFp8:
      return {"fp8", {1 + 4.0 / (128 * 128), Precision::kFp8}};
    case StoredAs::kMxfp4:
      return {"mxfp4", {0.5 + 1.0 / 32, Precision::kBf16}};
    case StoredAs::kNvfp4:
      return {"nvfp4", {machine::bytes_per_element(Precision::kNvfp4), Precision::kNvfp4}};
    case StoredAs::kInt4:
      return {"int4", {0.5 + 20.0 / 8 / 128, Precision::kBf16}};
    case StoredAs::kBf16:
      break;
  }
  return {"bf16", {2, Precision::kBf16}};
}

// What the converted weights of a file are called.
std::string name_of(const StoredWeights& file, Precision products) {
  if (products != Precision::kBf16) return std::string(machine::name(products));
  if (file.method == "mxfp4") return "mxfp4";
  return fmt::format("{}-bit {}", file.bits < 16 ? file.bits : 4, file.method);
}

double weights_of(const ServedLayers& kind, Part part) {
  if (part == Part::kExperts)
    return static_cast<double>(kind.experts * (kind.expert_in * kind.expert_up + kind.expert_inner * kind.expert_in));
  double sum = 0;
  for (const serving::ServedMatrix& m : kind.matrices)
    if (m.part == part) sum += static_cast<double>(m.in) * static_cast<double>(m.out + m.kv_heads * m.kv_width);
  return sum;
}

Stored stored_of(const StoredPart& part, double weights) {
  const double converted = static_cast<double>(part.weights), stays = std::max(0.0, weights - converted);
  if (!(converted > 0)) return {2, Precision::kBf16};
  return {(part.bytes + 2 * stays) / (converted + stays), 2 * converted > weights ? part.products : Precision::kBf16};
}

void store_as_file(const StoredWeights& file, serving::ServedModel& model) {
  for (ServedLayers& kind : model.kinds) {
    const StoredKind& of = file.kinds[kind.kind];
    const auto part = [&](Part which, const StoredPart& stored) {
      return stored_of(stored, weights_of(kind, which) * static_cast<double>(kind.layers));
    };
    const Stored mixer = part(Part::kMixer, of.mixer), network = part(Part::kNetwork, of.network),
                 router = part(Part::kRouter, of.router);
    for (serving::ServedMatrix& m : kind.matrices)
      m.stored = m.part == Part::kMixer ? mixer : m.part == Part::kNetwork ? network : router;
    kind.expert_stored = part(Part::kExperts, of.experts);
  }
  if (model.head > 0) model.head_bytes = stored_of(file.head, model.head).bytes;
}

void store_as(const Stored& stored, bool experts_only, serving::ServedModel& model) {
  for (ServedLayers& kind : model.kinds) {
    for (serving::ServedMatrix& m : kind.matrices)
      m.stored = experts_only || m.part == Part::kRouter ? Stored{2, Precision::kBf16} : stored;
    kind.expert_stored = stored;
  }
}

// The narrowest that products of the model are in.
Precision products_of(const serving::ServedModel& model) {
  Precision out = Precision::kBf16;
  const auto narrow = [&](const Stored& s) {
    if (machine::bytes_per_element(s.products) < machine::bytes_per_element(out)) out = s.products;
  };
  for (const ServedLayers& kind : model.kinds) {
    if (kind.experts > 0) narrow(kind.expert_stored);
    for (const serving::ServedMatrix& m : kind.matrices) narrow(m.stored);
  }
  return out;
}

// As the file says, which the engines take where nobody says otherwise.
void choose_caches(const StoredWeights& file, ServeRequest& r, ServedAnswer& out) {
  if (r.cache_precision) return;
  r.cache_precision = file.caches;
  out.caches_as_published = file.caches.has_value();
  if (!file.unknown_caches.empty())
    out.warnings
        .warning("O0926", fmt::format("keys and values in `{}`, as the model's file has them, are not understood",
                                      file.unknown_caches))
        .note("they are taken in 16 bits")
        .hint("say their width by `--kv-dtype`");
}

// In the format of the weights, where the machines have it.
Precision computed(Precision wanted, const std::string& weights, const std::vector<serving::Machine>& machines) {
  const auto has = [&](const serving::Machine& m) { return m.system->accelerator.peak(wanted) > 0; };
  if (std::all_of(machines.begin(), machines.end(), has)) return wanted;
  if (std::any_of(machines.begin(), machines.end(), has))
    base::fail("O2070", fmt::format("some of the systems compute in {}, others do not", machine::name(wanted)), {},
               fmt::format("ask them one by one, or add `--weights {0} --precision bf16`: {0} weights, all products in "
                           "16 bits",
                           weights));
  return Precision::kBf16;
}

// What is asked for, of weights that are no wider: fp8 products of 4-bit weights (W4A8).
void multiply_in(Precision asked, serving::ServedModel& model) {
  const double width = machine::bytes_per_element(asked);
  const auto part = [&](Stored& s) {
    if (width >= 1 && s.bytes > 0 && s.bytes < 1.05 * width && machine::bytes_per_element(s.products) > width)
      s.products = asked;
  };
  for (ServedLayers& kind : model.kinds) {
    part(kind.expert_stored);
    for (serving::ServedMatrix& m : kind.matrices) part(m.stored);
  }
}

// Where the weights' format leaves nothing that is multiplied as asked.
void refuse_unused(Precision asked, const serving::ServedModel& model, const std::string& weights) {
  const Precision narrowest = products_of(model);
  if (machine::bytes_per_element(narrowest) <= machine::bytes_per_element(asked)) return;
  base::fail("O2070",
             fmt::format("{} weights are multiplied in {}, nothing in {}", weights, machine::name(narrowest),
                         machine::name(asked)),
             {}, fmt::format("`--precision {}`, or `--weights {}`", machine::name(narrowest), machine::name(asked)));
}

}  // namespace

bool widens(const serving::ServedModel& model, const serving::Deployment& deployment) {
  const auto wide = [&](const Stored& s) {
    return s.bytes > 0 && 1.5 * s.bytes < machine::bytes_per_element(serving::product_precision(s, deployment));
  };
  return std::any_of(model.kinds.begin(), model.kinds.end(), [&](const ServedLayers& kind) {
    return (kind.experts > 0 && wide(kind.expert_stored)) ||
           std::any_of(kind.matrices.begin(), kind.matrices.end(), [&](const auto& m) { return wide(m.stored); });
  });
}

void choose_weights(const StoredWeights& file, const std::vector<serving::Machine>& machines,
                    serving::ServedModel& model, ServeRequest& r, ServedAnswer& out) {
  serving::ServedModel published = model;
  const bool converts = file.converted > 0;
  if (converts) store_as_file(file, published);
  const Precision own = products_of(published);
  const std::string of_file = converts ? name_of(file, own) : "";
  const Asked asked = asked_of(r.weights.value_or(StoredAs::kBf16));
  const bool as_file = converts && (r.weights ? of_file == asked.name : !r.precision || *r.precision == own);
  if (!converts && !r.weights) {
    r.precision = r.precision.value_or(Precision::kBf16);
  } else if (as_file) {
    model = std::move(published);
    if (r.precision) multiply_in(*r.precision, model);
    if (!r.precision) r.precision = computed(own, of_file, machines);
  } else if (r.weights) {
    store_as(asked.stored, *r.weights == StoredAs::kMxfp4 && model.mixes(), model);
    if (r.precision) multiply_in(*r.precision, model);
    if (!r.precision) r.precision = computed(asked.stored.products, asked.name, machines);
  }
  out.weights = as_file ? of_file : r.weights ? asked.name : std::string(machine::name(*r.precision));
  out.as_published = as_file;
  if (r.weights) refuse_unused(*r.precision, model, out.weights);
  choose_caches(file, r, out);
  if (converts && !as_file)
    out.warnings
        .warning("O2085", fmt::format("the file of `{}` has {} weights: the answer is of a checkpoint in {}", out.model,
                                      of_file, out.weights))
        .hint("leave `--precision` and `--weights` out: the file's own weights are served");
}

}  // namespace orrery::verbs

// Plans of training runs, one and many.
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/orrery.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;
using Texts = std::vector<std::string>;

// What a plan is before anything is said: degrees of 1, the software and its overlap the system's or the named one's.
cluster::Plan plan_of(const System& system, const std::string& stack) {
  cluster::Plan plan;
  plan.stack = stack.empty() ? system.value().stack : formats::orrery::load_stack(catalogue_directory(), stack).stack;
  plan.overlap = plan.stack.overlap;
  return plan;
}

[[noreturn]] void refuse_field(const base::Field& field, const std::string& text) {
  throw nb::value_error(fmt::format("{}: {} is expected, not `{}`", field.path, field.values, text).c_str());
}

const base::Field& field_named(const base::Fields& fields, const std::string& path) {
  if (const base::Field* const field = base::find_field(fields, path)) return *field;
  Texts known;
  for (const base::Field& field : fields) known.push_back(field.path);
  throw nb::type_error(fmt::format("a plan has no field `{}`; it has: {}", path, base::joined(known, ", ")).c_str());
}

struct Columns {
  std::vector<double> time_s, memory_bytes, mfu, tokens_per_s;
  std::vector<std::uint8_t> fits;

  explicit Columns(std::size_t rows) {
    for (std::vector<double>* each : {&time_s, &memory_bytes, &mfu, &tokens_per_s})
      each->assign(rows, std::numeric_limits<double>::quiet_NaN());
    fits.assign(rows, 0);
  }
  void put(std::size_t row, const cluster::Iteration& of) {
    time_s[row] = of.iteration_s;
    memory_bytes[row] = of.memory.total();
    mfu[row] = of.done.mfu;
    tokens_per_s[row] = of.tokens_per_s;
    fits[row] = of.fits ? 1 : 0;
  }
};

template <typename Value>
nb::bytes bytes_of(const std::vector<Value>& column) {
  return nb::bytes(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(Value));
}

// What varies: a field, the values that it takes, and an index into them for each row.
using Varied = std::vector<std::tuple<std::string, Texts, std::vector<std::uint32_t>>>;

// A row per plan; NaN where it cannot be.
nb::dict train_batch(const Model& model, const System& system, const std::string& stack,
                     const std::vector<std::pair<std::string, std::string>>& same, const Varied& varied,
                     std::size_t rows) {
  cluster::Plan plan = plan_of(system, stack);
  const base::Fields fields = cluster::fields(plan);
  for (const auto& [path, text] : same) {
    const base::Field& field = field_named(fields, path);
    if (!field.set(text)) refuse_field(field, text);
  }
  std::vector<const base::Field*> varied_fields;
  for (const auto& [path, values, at] : varied) {
    varied_fields.push_back(&field_named(fields, path));
    if (at.size() != rows)
      throw nb::value_error(fmt::format("{}: it has {} values, but others have {}", path, at.size(), rows).c_str());
    for (const std::string& text : values)
      if (!varied_fields.back()->set(text)) refuse_field(*varied_fields.back(), text);
  }
  Columns columns(rows);
  {
    const nb::gil_scoped_release released;
    const cluster::Model& trained = model.value();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < varied.size(); ++c) {
        const auto& [path, values, at] = varied[c];
        if (row == 0 || at[row] != at[row - 1]) varied_fields[c]->set(values.at(at[row]));
      }
      if (!cluster::possible(trained, system.value(), plan)) continue;
      columns.put(row, cluster::evaluate(trained, system.value(), plan, system.operators()));
    }
  }
  nb::dict out;
  out["time_s"] = bytes_of(columns.time_s);
  out["memory_bytes"] = bytes_of(columns.memory_bytes);
  out["mfu"] = bytes_of(columns.mfu);
  out["tokens_per_s"] = bytes_of(columns.tokens_per_s);
  out["fits"] = bytes_of(columns.fits);
  return out;
}

// Name, what it may be, what it means, of every field.
nb::list plan_fields() {
  cluster::Plan plan;
  nb::list out;
  for (const base::Field& field : cluster::fields(plan))
    out.append(nb::make_tuple(field.path, field.values, field.text));
  return out;
}

// The value as the field keeps it; refused where it cannot be.
std::variant<Count, double, bool, std::string> checked_field(const std::string& path, const std::string& text) {
  cluster::Plan plan;
  const base::Fields fields = cluster::fields(plan);
  const base::Field& field = field_named(fields, path);
  if (!field.set(text)) refuse_field(field, text);
  return field.get();
}

}  // namespace

void define_train(nb::module_& m) {
  m.def("plan_fields", &plan_fields);
  m.def("checked_field", &checked_field, nb::arg("path"), nb::arg("text"));
  m.def("train_batch", &train_batch, nb::arg("model"), nb::arg("system"), nb::arg("stack"), nb::arg("same"),
        nb::arg("varied"), nb::arg("rows"),
        "Iterations of many plans: columns of doubles, and of bytes for `fits`; NaN where a plan cannot be.");
}

}  // namespace orrery::python

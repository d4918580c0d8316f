// Kernels on arrays of Python's, in place: an encoder's layer with its gradients, and attention.
// orrery/torch/encoder.py and orrery/arrays.py say what is wrong with arrays before they come here; nothing is
// converted on the way.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/layer/encoder.h"

namespace orrery::python {
namespace {

namespace nb = nanobind;
using kernels::Index;
using Rows = nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<float, nb::c_contig, nb::device::cpu>;
using Bias = nb::ndarray<float, nb::ndim<4>, nb::device::cpu>;
using Heads = nb::ndarray<float, nb::ndim<4>, nb::device::cpu>;
using Kept = nb::ndarray<std::uint8_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

// What layers and attention run on, one after the other. Threads do not outlive a fork, so a child has its own. Never
// destroyed: Python has ended by then.
struct Machine {
  std::mutex mutex;
  kernels::Context context;
  explicit Machine(int threads) : context(threads) {}
};
Machine& machine(int threads) {
  static auto* const made = new std::map<std::pair<pid_t, int>, std::unique_ptr<Machine>>;  // under the GIL
  std::unique_ptr<Machine>& one = (*made)[{getpid(), threads}];
  if (one == nullptr) one = std::make_unique<Machine>(threads);
  return *one;
}

kernels::Type type_named(const std::string& name) {
  if (name == "float32") return kernels::Type::kF32;
  if (name == "bfloat16") return kernels::Type::kBf16;
  throw nb::type_error(fmt::format("float32 or bfloat16 is expected, not {}", name).c_str());
}

// A stride in elements; 0 where the dimension has one element, which is repeated.
template <typename Array>
Index stride(const Array& of, std::size_t dimension) {
  return of.shape(dimension) == 1 ? 0 : of.stride(dimension);
}

class Layer {
 public:
  Layer(Index batch, Index length, Index width, Index heads, Index hidden, const std::string& type,
        const std::string& activation, bool pre, bool bias, double epsilon, bool training, int threads)
      : machine_(machine(threads)), training_(training) {
    shape_.batch = batch, shape_.length = length, shape_.width = width, shape_.heads = heads, shape_.hidden = hidden;
    shape_.type = type_named(type);
    shape_.activation = activation == "relu" ? kernels::Activation::kRelu : kernels::Activation::kGelu;
    shape_.norms = pre ? layer::Place::kPre : layer::Place::kPost;
    shape_.qkv_bias = shape_.out_bias = shape_.network_bias = shape_.shift = bias;
    shape_.epsilon = static_cast<float>(epsilon);
  }

  // In the order of parts(); those that the layer does not have are None.
  void set_weights(const std::vector<std::optional<Numbers>>& given) {
    layer::Weights weights;
    const Parts to = parts(weights);
    for (std::size_t i = 0; i < to.size() && i < given.size(); ++i)
      if (given[i]) to[i]->assign(given[i]->data(), given[i]->data() + given[i]->size());
    const nb::gil_scoped_release released;
    const std::lock_guard one(machine_.mutex);
    if (encoder_)
      encoder_->set_weights(weights);
    else
      encoder_ = std::make_unique<layer::Encoder>(machine_.context, shape_, weights, training_);
  }

  // `drop`: probabilities of scores, behind attention, of the hidden layer, behind the network.
  void forward(const Rows& x, const Rows& y, const std::optional<Bias>& mask, const std::array<double, 4>& drop,
               std::uint64_t seed) {
    layer::Input in;
    in.x = rows_of(x, "x");
    void* const out = rows_of(y, "y");
    if (mask) in.mask = {mask->data(), stride(*mask, 0), stride(*mask, 1), stride(*mask, 2)};
    const nb::gil_scoped_release released;
    const std::lock_guard one(machine_.mutex);
    if (training_)
      encoder_->forward(in, out, {drop[0], drop[1], drop[2], drop[3]}, seed);
    else
      encoder_->infer(in, out);
  }

  void backward(const Rows& dy, const Rows& dx, const std::vector<std::optional<Numbers>>& wanted) {
    const void* const from = rows_of(dy, "dy");
    void* const to = rows_of(dx, "dx");
    const nb::gil_scoped_release released;
    const std::lock_guard one(machine_.mutex);
    layer::Weights gradients(shape_);
    encoder_->backward(from, to, gradients);
    const Parts found = parts(gradients);
    for (std::size_t i = 0; i < found.size() && i < wanted.size(); ++i)
      if (wanted[i]) std::copy_n(found[i]->begin(), std::min(found[i]->size(), wanted[i]->size()), wanted[i]->data());
  }

 private:
  using Parts = std::array<std::vector<float>*, 12>;
  static Parts parts(layer::Weights& w) {
    return {&w.qkv,  &w.qkv_bias,  &w.out,    &w.out_bias, &w.up,     &w.up_bias,
            &w.down, &w.down_bias, &w.scale1, &w.shift1,   &w.scale2, &w.shift2};
  }

  void* rows_of(const Rows& rows, const char* name) const {
    const bool brain = shape_.type == kernels::Type::kBf16;
    const auto code = static_cast<std::uint8_t>(brain ? nb::dlpack::dtype_code::Bfloat : nb::dlpack::dtype_code::Float);
    const Index sizes[] = {shape_.batch, shape_.length, shape_.width};
    bool right = encoder_ && rows.dtype().code == code && rows.dtype().bits == (brain ? 16 : 32);
    for (std::size_t i = 0; i < 3; ++i) right = right && static_cast<Index>(rows.shape(i)) == sizes[i];
    if (!right) throw nb::type_error(fmt::format("{}: it is not as the layer was made for", name).c_str());
    return rows.data();
  }

  Machine& machine_;
  layer::Shape shape_;
  bool training_;
  std::unique_ptr<layer::Encoder> encoder_;
};

kernels::Vectors vectors(const Heads& of) {
  return {of.data(), of.stride(0), of.stride(1), of.stride(2)};
}

// [batch][heads][tokens][size] each, in any layout whose last dimension lies together. `kept`: bytes of
// [1 or batch][1 or heads][queries][keys]. The sizes have been compared.
void attention(const Heads& query, const Heads& key, const Heads& value, const Heads& out,
               const std::optional<Kept>& kept, double scale, bool causal, int threads) {
  kernels::Attention a;
  a.batch = static_cast<Index>(query.shape(0)), a.heads = static_cast<Index>(query.shape(1));
  a.key_heads = static_cast<Index>(key.shape(1));
  a.queries = static_cast<Index>(query.shape(2)), a.keys = static_cast<Index>(key.shape(2));
  a.size = static_cast<Index>(query.shape(3)), a.value_size = static_cast<Index>(value.shape(3));
  a.scale = scale, a.query_offset = a.keys - a.queries, a.reach_ahead = causal ? 0 : -1;
  a.query = vectors(query), a.key = vectors(key), a.value = vectors(value), a.out = vectors(out);
  Machine& on = machine(threads);
  const nb::gil_scoped_release released;
  masks::Mask mask;
  kernels::KeptPairs pairs;
  if (kept) {
    mask = masks::mask_of_bytes(
        {static_cast<Index>(kept->shape(0)), static_cast<Index>(kept->shape(1)), a.queries, a.keys}, kept->data());
    const Index matrix = mask.rows() * mask.words();
    pairs.bits = mask.row(0, 0, 0), pairs.row = mask.words();
    pairs.head = mask.heads() == 1 ? 0 : matrix, pairs.batch = mask.batch() == 1 ? 0 : mask.heads() * matrix;
    a.kept = &pairs;
  }
  const std::lock_guard one(on.mutex);
  kernels::attend(on.context, a);
}

}  // namespace

void define_layer(nb::module_& m) {
  nb::class_<Layer>(m, "Layer")
      .def(nb::init<Index, Index, Index, Index, Index, const std::string&, const std::string&, bool, bool, double, bool,
                    int>(),
           nb::arg("batch"), nb::arg("length"), nb::arg("width"), nb::arg("heads"), nb::arg("hidden"), nb::arg("type"),
           nb::arg("activation"), nb::arg("pre"), nb::arg("bias"), nb::arg("epsilon"), nb::arg("training"),
           nb::arg("threads"))
      .def("set_weights", &Layer::set_weights, nb::arg("weights"))
      .def("forward", &Layer::forward, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
           nb::arg("mask").noconvert().none(), nb::arg("drop"), nb::arg("seed"))
      .def("backward", &Layer::backward, nb::arg("dy").noconvert(), nb::arg("dx").noconvert(), nb::arg("gradients"));
  m.def("attention", &attention, nb::arg("query").noconvert(), nb::arg("key").noconvert(), nb::arg("value").noconvert(),
        nb::arg("out").noconvert(), nb::arg("kept").noconvert().none(), nb::arg("scale"), nb::arg("causal"),
        nb::arg("threads"));
}

}  // namespace orrery::python

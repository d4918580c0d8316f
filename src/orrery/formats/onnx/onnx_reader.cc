#include "orrery/formats/onnx/onnx_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/file_pieces.h"
#include "orrery/formats/onnx/onnx_schema.h"
#include "orrery/formats/onnx/onnx_wire.h"

namespace orrery::formats::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensors are little-endian, and are copied as they are");

class Reader {
 public:
  Reader(Wire::Next next, std::shared_ptr<const base::SourceFile> file) : wire_(std::move(next), file) {
    model_.file = std::move(file);
  }

  Model operator()() {
    bool graph = false;
    wire_.fields("ModelProto", [&](int field) {
      if (field == schema::model::kGraph) {
        graph = true;
        wire_.message("GraphProto", [&](int inner) { read_graph(inner); });
      } else if (field == schema::model::kOpsets) {
        read_opset();
      }
    });
    if (!graph) wire_.broken("it has no graph", 0);
    const auto weight = [this](const Declared& input) { return names_of_tensors_.count(input.name) > 0; };
    std::erase_if(model_.inputs, weight);  // old files list them twice
    name_nodes();
    return std::move(model_);
  }

 private:
  void read_opset() {
    std::string domain;
    Count version = 0;
    wire_.message("OperatorSetIdProto", [&](int field) {
      if (field == schema::opset::kDomain) domain = wire_.text("domain");
      if (field == schema::opset::kVersion) version = wire_.integer("version");
    });
    if (domain.empty() || domain == "ai.onnx") model_.opset = version;
  }

  void read_graph(int field) {
    switch (field) {
      case schema::graph::kNodes:
        if (model_.nodes.size() >= kMostNodes) wire_.beyond(fmt::format("it has more than {} operators", kMostNodes));
        return read_node(model_.nodes.emplace_back());
      case schema::graph::kWeights:
        model_.tensors.push_back(tensor());
        names_of_tensors_.insert(model_.tensors.back().name);
        return;
      case schema::graph::kSparseWeights:
        model_.tensors.push_back(sparse_tensor());
        names_of_tensors_.insert(model_.tensors.back().name);
        return;
      case schema::graph::kInputs:
        model_.inputs.push_back(declared());
        return;
      case schema::graph::kOutputs:
        model_.outputs.push_back(declared());
        return;
      case schema::graph::kValues:
        model_.values.push_back(declared());
        return;
      default:
        return;
    }
  }

  void read_node(Node& node) {
    node.byte = wire_.byte();
    wire_.message("NodeProto", [&](int field) {
      switch (field) {
        case schema::node::kInputs:
          node.inputs.push_back(wire_.text("input"));
          return;
        case schema::node::kOutputs:
          node.outputs.push_back(wire_.text("output"));
          return;
        case schema::node::kName:
          node.name = wire_.text("name");
          return;
        case schema::node::kType:
          node.type = wire_.text("op_type");
          return;
        case schema::node::kAttributes:
          return read_attribute(node.attributes.emplace_back());
        case schema::node::kDomain:
          node.domain = wire_.text("domain");
          return;
        default:
          return;
      }
    });
    if (node.type.empty()) wire_.broken("an operator has no type", node.byte);
    if (node.domain == "ai.onnx") node.domain.clear();
  }

  void read_attribute(Attribute& attribute) {
    wire_.message("AttributeProto", [&](int field) {
      switch (field) {
        case schema::attribute::kName:
          attribute.name = wire_.text("name");
          return;
        case schema::attribute::kReal:
          attribute.real = wire_.real("f");
          return;
        case schema::attribute::kInteger:
          attribute.integer = wire_.integer("i");
          return;
        case schema::attribute::kText:
          wire_.bytes(attribute.text, kMostText);
          return;
        case schema::attribute::kTensor:
          attribute.tensor = tensor();
          return;
        case schema::attribute::kReals:
          wire_.reals(attribute.reals, "floats", kMostValues);
          return;
        case schema::attribute::kIntegers:
          wire_.integers(attribute.integers, "ints", kMostValues);
          return;
        case schema::attribute::kGraph:
        case schema::attribute::kGraphs:
          attribute.graph = true;
          return;
        default:
          return;
      }
    });
  }

  void read_size(std::vector<std::int64_t>& sizes) {
    wire_.integers(sizes, "dims", kMostRank);
    if (sizes.size() > kMostRank) wire_.beyond(fmt::format("a tensor has more than {} dimensions", kMostRank));
    for (const std::int64_t size : sizes) {
      if (size < 0) wire_.broken(fmt::format("a tensor's dimension has the size {}", size), wire_.byte());
      if (size > kMostSize) wire_.beyond(fmt::format("a tensor's dimension has the size {}", size));
    }
  }

  Tensor tensor() {
    Tensor out;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
    std::string raw;
    std::int64_t type = 0;
    const auto most = static_cast<std::size_t>(kMostValues);
    wire_.message("TensorProto", [&](int field) {
      switch (field) {
        case schema::tensor::kSizes:
          return read_size(out.shape);
        case schema::tensor::kType:
          type = wire_.integer("data_type");
          return;
        case schema::tensor::kName:
          out.name = wire_.text("name");
          return;
        case schema::tensor::kReals:
          return wire_.reals(reals, "float_data", most);
        case schema::tensor::kIntegers32:
          return wire_.integers(integers, "int32_data", most);
        case schema::tensor::kIntegers64:
          return wire_.integers(integers, "int64_data", most);
        case schema::tensor::kRaw:
          wire_.bytes(raw, most * sizeof(std::int64_t));
          return;
        default:
          return;
      }
    });
    keep_values(out, type, raw, std::move(integers), std::move(reals));
    return out;
  }

  // Where there are as many values as the shape says; else they are elsewhere, or too many.
  static void keep_values(Tensor& tensor, std::int64_t type, const std::string& raw, std::vector<std::int64_t> integers,
                          std::vector<float> reals) {
    Count size = 1;
    for (const Count each : tensor.shape)
      if (__builtin_mul_overflow(size, each, &size) || size > kMostValues) return;
    const auto count = static_cast<std::size_t>(size);
    const auto copy = [&](auto element, auto& to) {
      if (!raw.empty() && raw.size() == count * sizeof(element)) {
        to.clear();
        for (std::size_t i = 0; i < count; ++i) {
          std::memcpy(&element, raw.data() + i * sizeof(element), sizeof(element));
          to.push_back(element);
        }
      }
      return to.size() == count;
    };
    switch (type) {
      case schema::tensor::kFloat:
        if (copy(float{}, reals)) tensor.reals = std::move(reals);
        return;
      case schema::tensor::kInt32:
        if (copy(std::int32_t{}, integers)) tensor.integers = std::move(integers);
        return;
      case schema::tensor::kInt64:
        if (copy(std::int64_t{}, integers)) tensor.integers = std::move(integers);
        return;
      case schema::tensor::kBool:
        if (copy(std::int8_t{}, integers)) tensor.integers = std::move(integers);
        return;
      default:
        return;
    }
  }

  Tensor sparse_tensor() {
    Tensor out;
    wire_.message("SparseTensorProto", [&](int field) {
      if (field == schema::sparse::kValues) out.name = tensor().name;
      if (field == schema::sparse::kSizes) read_size(out.shape);
    });
    return out;
  }

  Declared declared() {
    Declared out;
    wire_.message("ValueInfoProto", [&](int field) {
      if (field == schema::declared::kName) out.name = wire_.text("name");
      if (field != schema::declared::kType) return;
      wire_.message("TypeProto", [&](int kind) {
        if (kind != schema::type::kTensor) return;
        wire_.message("TypeProto.Tensor", [&](int part) {
          if (part != schema::tensor_type::kShape) return;
          out.dimensions.emplace();
          wire_.message("TensorShapeProto", [&](int dimension) {
            if (dimension == schema::shape::kDimensions) read_dimension(*out.dimensions);
          });
        });
      });
    });
    return out;
  }

  void read_dimension(std::vector<Dimension>& dimensions) {
    if (dimensions.size() >= kMostRank) wire_.beyond(fmt::format("a tensor has more than {} dimensions", kMostRank));
    Dimension dimension;
    wire_.message("Dimension", [&](int field) {
      if (field == schema::dimension::kSize) dimension.size = wire_.integer("dim_value");
      if (field == schema::dimension::kSymbol) dimension.symbol = wire_.text("dim_param");
    });
    if (dimension.size < 0) dimension.size = kUnknown;  // how some writers say that it is open
    if (dimension.size > kMostSize) wire_.beyond(fmt::format("a tensor's dimension has the size {}", dimension.size));
    dimensions.push_back(std::move(dimension));
  }

  // Operators need no names in a file, and may share one.
  void name_nodes() {
    std::set<std::string> used;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      Node& node = model_.nodes[i];
      if (node.name.empty()) node.name = fmt::format("{}_{}", node.type, i);
      if (!used.insert(node.name).second) {
        node.name += fmt::format("_{}", i);
        while (!used.insert(node.name).second) node.name += "_";
      }
    }
  }

  Wire wire_;
  Model model_;
  std::set<std::string> names_of_tensors_;
};

std::shared_ptr<const base::SourceFile> named(const std::string& name) {
  auto file = std::make_shared<base::SourceFile>();
  file->name = name;
  return file;
}

}  // namespace

Model read(const std::string& path) {
  base::FilePieces pieces(path);
  Model model = Reader([&] { return pieces.next(); }, named(path))();
  model.hash = pieces.hash();
  return model;
}

Model parse(std::string_view bytes, const std::string& name) {
  std::string_view left = bytes;
  Model model = Reader([&] { return std::exchange(left, {}); }, named(name))();
  model.hash = base::content_hash(bytes);
  return model;
}

}  // namespace orrery::formats::onnx

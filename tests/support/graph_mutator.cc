#include "support/graph_mutator.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "wire/graph.pb.h"

namespace gyre::test {

class GraphMutator::Impl {
 public:
  Impl(uint64_t seed, std::vector<std::string> graphs)
      : random_(seed), graphs_(std::move(graphs)) {}

  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }

  std::string Mutate(std::string bytes) {
    using Mutation = void (Impl::*)(std::string&);
    static constexpr Mutation kMutations[] = {
        &Impl::FlipBytes,    &Impl::Truncate,    &Impl::Splice,
        &Impl::ChangeLength, &Impl::ChangeNodes, &Impl::ChangeNodes,
        &Impl::ChangeAttrs,  &Impl::ChangeAttrs, &Impl::ChangeFunctions};
    for (size_t n = 1 + Below(3); n > 0; --n)
      (this->*kMutations[Below(std::size(kMutations))])(bytes);
    return bytes;
  }

  const std::string& graph(size_t i) const { return graphs_[i]; }

 private:
  int64_t Number() {
    static constexpr int64_t kNumbers[] = {0,
                                           1,
                                           -1,
                                           2,
                                           -7,
                                           255,
                                           1 << 20,
                                           int64_t{1} << 31,
                                           int64_t{1} << 40,
                                           int64_t{1} << 62,
                                           INT64_MAX,
                                           INT64_MIN};
    return kNumbers[Below(std::size(kNumbers))];
  }
  template <typename List>
  auto* Any(List* list) {
    return list->Mutable(static_cast<int>(Below(static_cast<size_t>(list->size()))));
  }

  void FlipBytes(std::string& bytes) {
    for (size_t n = 1 + Below(8); n > 0 && !bytes.empty(); --n) {
      bytes[Below(bytes.size())] = static_cast<char>(random_());
    }
  }
  void Truncate(std::string& bytes) { bytes.resize(Below(bytes.size() + 1)); }
  void Splice(std::string& bytes) {
    const std::string& other = graphs_[Below(graphs_.size())];
    const size_t begin = Below(other.size());
    bytes.insert(Below(bytes.size() + 1), other.substr(begin, Below(other.size() - begin + 1)));
  }
  // Lies about the length of a top-level field or of one inside the first of them.
  void ChangeLength(std::string& bytes) {
    for (size_t at = 0; at + 1 < bytes.size(); ++at) {
      if ((bytes[at] & 7) != 2 || Below(10) != 0) continue;
      bytes[at + 1] = static_cast<char>(random_());
      return;
    }
  }

  template <typename Change>
  void Reparsed(std::string& bytes, Change change) {
    google::protobuf::LogSilencer silence;
    wire::GraphDef graph;
    if (!graph.ParseFromString(bytes) || graph.node_size() == 0) return;
    change(graph);
    bytes = graph.SerializeAsString();
  }
  // The nodes of the main graph or of some function.
  google::protobuf::RepeatedPtrField<wire::NodeDef>* AnyBody(wire::GraphDef& graph) {
    auto* functions = graph.mutable_library()->mutable_function();
    if (functions->empty() || Below(2) == 0) return graph.mutable_node();
    auto* body = Any(functions)->mutable_node_def();
    return body->empty() ? graph.mutable_node() : body;
  }

  void ChangeNodes(std::string& bytes) {
    Reparsed(bytes, [&](wire::GraphDef& graph) {
      auto* nodes = AnyBody(graph);
      wire::NodeDef* node = Any(nodes);
      const wire::NodeDef other = *Any(nodes);
      switch (Below(8)) {
        case 0:
          return node->set_name(Below(2) == 0 ? other.name() : "");
        case 1:
          return node->set_op(Below(2) == 0 ? other.op() : "NoSuchOp");
        case 2:
          return node->add_input(absl::StrCat(Below(2) == 0 ? "" : "^", other.name()));
        case 3:
          return node->add_input(absl::StrCat(other.name(), ":", Below(4) == 0 ? Number() : 1));
        case 4:
          return node->input_size() > 0 ? node->mutable_input()->RemoveLast() : node->clear_attr();
        case 5:
          return nodes->SwapElements(0,
                                     static_cast<int>(Below(static_cast<size_t>(nodes->size()))));
        case 6:
          return nodes->DeleteSubrange(static_cast<int>(Below(static_cast<size_t>(nodes->size()))),
                                       1);
        default:
          *nodes->Add() = other;
      }
    });
  }

  void ChangeAttrs(std::string& bytes) {
    Reparsed(bytes, [&](wire::GraphDef& graph) {
      wire::NodeDef* node = Any(AnyBody(graph));
      const wire::NodeDef other = *Any(AnyBody(graph));
      if (node->attr().empty()) return;
      const std::string name =
          std::next(node->attr().begin(), static_cast<int64_t>(Below(node->attr().size())))->first;
      wire::AttrValue& value = (*node->mutable_attr())[name];
      if (value.has_tensor() && Below(2) == 0) return ChangeTensor(value.mutable_tensor());
      switch (Below(7)) {
        case 0:
          return value.set_i(Number());
        case 1:
          return value.set_type(static_cast<wire::DataType>(Below(130)));
        case 2:
          return value.mutable_shape()->add_dim()->set_size(Number());
        case 3:
          return value.mutable_list()->add_type(static_cast<wire::DataType>(Below(130)));
        case 4:
          return value.set_placeholder("T");
        case 5:
          return value.mutable_func()->set_name(other.op());
        default:
          node->mutable_attr()->erase(name);
      }
    });
  }

  void ChangeTensor(wire::TensorProto* tensor) {
    switch (Below(5)) {
      case 0:
        return tensor->set_dtype(static_cast<wire::DataType>(Below(130)));
      case 1:
        return tensor->mutable_tensor_shape()->add_dim()->set_size(Number());
      case 2:
        return tensor->set_tensor_content(tensor->tensor_content() + "abc");
      case 3:
        return tensor->clear_tensor_content();
      default:
        return tensor->add_float_val(1);
    }
  }

  void ChangeFunctions(std::string& bytes) {
    Reparsed(bytes, [&](wire::GraphDef& graph) {
      auto* functions = graph.mutable_library()->mutable_function();
      if (functions->empty()) return;
      wire::FunctionDef* function = Any(functions);
      wire::OpDef* signature = function->mutable_signature();
      switch (Below(7)) {
        case 0:
          return signature->set_name(Any(functions)->signature().name());
        case 1:
          return signature->add_attr()->set_name("T");
        case 2:
          return signature->input_arg_size() > 0
                     ? signature->mutable_input_arg(0)->set_type_attr("T")
                     : signature->add_input_arg()->set_name("z");
        case 3:
          return signature->output_arg_size() > 0
                     ? signature->mutable_output_arg(0)->set_number_attr("N")
                     : function->clear_node_def();
        case 4:
          for (auto& [name, value] : *function->mutable_ret()) value.append(":1");
          return;
        case 5:  // calls itself
          function->add_node_def()->set_name("self");
          return function->mutable_node_def()->rbegin()->set_op(signature->name());
        default:
          (*function->mutable_control_ret())["c"] = "nowhere";
      }
    });
  }

  std::mt19937_64 random_;
  std::vector<std::string> graphs_;
};

GraphMutator::GraphMutator(uint64_t seed, std::vector<std::string> graphs)
    : num_graphs_(graphs.size()), impl_(std::make_unique<Impl>(seed, std::move(graphs))) {}
GraphMutator::~GraphMutator() = default;

GraphMutator::Mutant GraphMutator::Next() {
  const size_t original = impl_->Below(num_graphs_);
  return {original, impl_->Mutate(impl_->graph(original))};
}

}  // namespace gyre::test

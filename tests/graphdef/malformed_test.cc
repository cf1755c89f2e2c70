// 20,000 damaged GraphDefs: each ends in a program or in INVALID_ARGUMENT (NOT_FOUND where a name
// was damaged), and what is read as a program can be written and read again.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "graphdef/canonical.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int kGraphs = 20000;
constexpr size_t kMaxSeedBytes = 4000;

class Mutator {
 public:
  Mutator(uint64_t seed, std::vector<std::string> graphs)
      : random_(seed), graphs_(std::move(graphs)) {}

  std::string Next() {
    using Mutation = void (Mutator::*)(std::string&);
    static constexpr Mutation kMutations[] = {
        &Mutator::FlipBytes,    &Mutator::Truncate,    &Mutator::Splice,
        &Mutator::ChangeLength, &Mutator::ChangeNodes, &Mutator::ChangeNodes,
        &Mutator::ChangeAttrs,  &Mutator::ChangeAttrs, &Mutator::ChangeFunctions};
    std::string bytes = graphs_[Below(graphs_.size())];
    for (size_t n = 1 + Below(3); n > 0; --n)
      (this->*kMutations[Below(std::size(kMutations))])(bytes);
    return bytes;
  }

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
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

TEST(MalformedGraphs, EndInAProgramOrAStatus) {
  std::vector<std::string> seeds;
  for (const std::string& name : test::GoldenNames()) {
    std::string bytes = test::ReadGolden(name, "graph.pb");
    if (bytes.size() <= kMaxSeedBytes) seeds.push_back(std::move(bytes));
  }
  ASSERT_GT(seeds.size(), 100u);
  Mutator mutator(20250101, std::move(seeds));
  ImportOptions options;
  options.max_expanded_bytes = 16 << 20;
  int programs = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const std::string bytes = mutator.Next();
    const auto program = ImportGraphDef(bytes, Ops(), options);
    if (!program.ok()) {
      ASSERT_TRUE(absl::IsInvalidArgument(program.status()) || absl::IsNotFound(program.status()))
          << "graph " << i << ": " << program.status();
      ASSERT_FALSE(program.status().message().empty());
      continue;
    }
    ++programs;
    const absl::StatusOr<std::string> exported = ExportGraphDef(**program);
    ASSERT_TRUE(exported.ok()) << "graph " << i << ": " << exported.status();
    const auto again = ImportGraphDef(*exported, Ops(), options);
    ASSERT_TRUE(again.ok()) << "graph " << i << ": " << again.status();
  }
  // Both outcomes must occur often, or the mutations are too mild or too wild to test anything.
  EXPECT_GT(programs, kGraphs / 50);
  EXPECT_LT(programs, kGraphs * 4 / 5);
}

}  // namespace
}  // namespace gyre

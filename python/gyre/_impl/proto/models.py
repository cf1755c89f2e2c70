"""The messages of a SavedModel, beside those of its graph.

Sources of names and numbers: tensorflow/core/protobuf/{saved_model,meta_graph,saver}.proto and
tensorflow/core/framework/variable.proto.
"""

from gyre._impl.proto.graphs import GraphDef, TensorShapeProto
from gyre._impl.proto.wire import Field, Message


class MetaInfo(Message):
    """What a graph is for."""

    _fields = {
        "meta_graph_version": Field(1, "string"),
        "tags": Field(4, "string", "many"),
        "tensorflow_version": Field(5, "string"),
        "stripped_default_attrs": Field(7, "bool"),
    }


class SaverDef(Message):
    """The nodes that save and restore variables, and how many checkpoints stay."""

    V1, V2 = 1, 2
    _fields = {
        "filename_tensor_name": Field(1, "string"),
        "save_tensor_name": Field(2, "string"),
        "restore_op_name": Field(3, "string"),
        "max_to_keep": Field(4, "int"),
        "sharded": Field(5, "bool"),
        "keep_checkpoint_every_n_hours": Field(6, "float"),
        "version": Field(7, "int"),
    }


class TensorInfo(Message):
    """An input or output of a signature."""

    _fields = {
        "name": Field(1, "string"),
        "dtype": Field(2, "int"),
        "tensor_shape": Field(3, "message", type=TensorShapeProto),
    }


class SignatureDef(Message):
    """A function of the graph."""

    _fields = {
        "inputs": Field(1, "message", "map", TensorInfo),
        "outputs": Field(2, "message", "map", TensorInfo),
        "method_name": Field(3, "string"),
    }


class NodeList(Message):
    """Names of operations and tensors."""

    _fields = {"value": Field(1, "string", "many")}


class BytesList(Message):
    """Messages, or texts."""

    _fields = {"value": Field(1, "bytes", "many")}


class Int64List(Message):
    """Whole numbers."""

    _fields = {"value": Field(1, "int", "many")}


class FloatList(Message):
    """Numbers."""

    _fields = {"value": Field(1, "float", "many")}


class CollectionDef(Message):
    """A collection of a graph: one of its fields is set."""

    NodeList, BytesList, Int64List, FloatList = NodeList, BytesList, Int64List, FloatList
    _fields = {
        "node_list": Field(1, "message", type=NodeList, oneof="kind"),
        "bytes_list": Field(2, "message", type=BytesList, oneof="kind"),
        "int64_list": Field(3, "message", type=Int64List, oneof="kind"),
        "float_list": Field(4, "message", type=FloatList, oneof="kind"),
    }


class SaveSliceInfoDef(Message):
    """Which part of a tensor of a checkpoint a variable is."""

    _fields = {
        "full_name": Field(1, "string"),
        "full_shape": Field(2, "int", "many"),
        "var_offset": Field(3, "int", "many"),
        "var_shape": Field(4, "int", "many"),
    }


class VariableDef(Message):
    """The nodes of one variable."""

    _fields = {
        "variable_name": Field(1, "string"),
        "initializer_name": Field(2, "string"),
        "snapshot_name": Field(3, "string"),
        "save_slice_info_def": Field(4, "message", type=SaveSliceInfoDef),
        "is_resource": Field(5, "bool"),
        "initial_value_name": Field(6, "string"),
        "trainable": Field(7, "bool"),
    }


class AssetFileDef(Message):
    """A file of the folder of assets, and the tensor that is fed its path."""

    _fields = {"tensor_info": Field(1, "message", type=TensorInfo), "filename": Field(2, "string")}


class MetaGraphDef(Message):
    """A graph with what is needed to run it."""

    MetaInfoDef = MetaInfo
    _fields = {
        "meta_info_def": Field(1, "message", type=MetaInfo),
        "graph_def": Field(2, "message", type=GraphDef),
        "saver_def": Field(3, "message", type=SaverDef),
        "collection_def": Field(4, "message", "map", CollectionDef),
        "signature_def": Field(5, "message", "map", SignatureDef),
        "asset_file_def": Field(6, "message", "many", AssetFileDef),
    }


class SavedModel(Message):
    """saved_model.pb."""

    _fields = {
        "saved_model_schema_version": Field(1, "int"),
        "meta_graphs": Field(2, "message", "many", MetaGraphDef),
    }

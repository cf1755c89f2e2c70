"""The messages of a SavedModel, beside those of its graph.

Sources of names and numbers: tensorflow/core/protobuf/{saved_model,meta_graph,saver}.proto and
tensorflow/core/framework/variable.proto.
"""

from gyre._impl.v1.messages import GraphDef, TensorShapeProto
from gyre._impl.v1.wire import Field, Message


class MetaInfo(Message):
    """What a graph is for."""

    _fields = {"tags": Field(4, "string", "many"), "tensorflow_version": Field(5, "string")}


class SaverDef(Message):
    """The nodes that save and restore variables."""

    _fields = {"filename_tensor_name": Field(1, "string"), "save_tensor_name": Field(2, "string"),
               "restore_op_name": Field(3, "string"), "version": Field(7, "int")}


class TensorInfo(Message):
    """An input or output of a signature."""

    _fields = {"name": Field(1, "string"), "dtype": Field(2, "int"),
               "tensor_shape": Field(3, "message", type=TensorShapeProto)}


class SignatureDef(Message):
    """A function of the graph."""

    _fields = {"inputs": Field(1, "message", "map", TensorInfo),
               "outputs": Field(2, "message", "map", TensorInfo), "method_name": Field(3, "string")}


class BytesList(Message):
    """Messages of a collection."""

    _fields = {"value": Field(1, "bytes", "many")}


class CollectionDef(Message):
    """What belongs together."""

    _fields = {"bytes_list": Field(2, "message", type=BytesList)}


class VariableDef(Message):
    """The nodes of one variable."""

    _fields = {"variable_name": Field(1, "string"), "initializer_name": Field(2, "string"),
               "snapshot_name": Field(3, "string"), "is_resource": Field(5, "bool"),
               "initial_value_name": Field(6, "string"), "trainable": Field(7, "bool")}


class MetaGraphDef(Message):
    """A graph with what is needed to run it."""

    _fields = {"meta_info_def": Field(1, "message", type=MetaInfo),
               "graph_def": Field(2, "message", type=GraphDef),
               "saver_def": Field(3, "message", type=SaverDef),
               "collection_def": Field(4, "message", "map", CollectionDef),
               "signature_def": Field(5, "message", "map", SignatureDef)}


class SavedModel(Message):
    """saved_model.pb."""

    _fields = {"saved_model_schema_version": Field(1, "int"),
               "meta_graphs": Field(2, "message", "many", MetaGraphDef)}

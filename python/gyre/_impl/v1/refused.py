"""Names that exist, and say why they do nothing."""


def export_meta_graph(*args, **kwargs):
    """Refused (NotImplementedError): write the graph with Graph.as_graph_def, variables with train.Saver."""
    raise NotImplementedError("meta graphs are not written: save the graph with Graph.as_graph_def(), and "
                              "variables with train.Saver")


def import_meta_graph(*args, **kwargs):
    """Refused (NotImplementedError): read the graph with import_graph_def, and variables with train.Saver."""
    raise NotImplementedError("meta graphs are not read into graphs of sessions: use import_graph_def for the "
                              "graph, and train.Saver for variables")

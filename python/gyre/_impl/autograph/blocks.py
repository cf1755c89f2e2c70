"""Ifs and loops become calls of operators with their blocks as functions: malt's pass, which knows
which names are used after a statement, made to know that names of scopes around are used later, too."""

from malt.converters import control_flow
from malt.pyct import anno, cfg, qual_names
from malt.pyct.static_analysis import activity, liveness, reaching_definitions, reaching_fndefs


class _Transformer(control_flow.ControlFlowTransformer):

    def _get_block_vars(self, node, modified):
        scope = self.state[control_flow._Function].scope
        outer = modified & (scope.nonlocals | scope.globals)
        live = anno.getanno(node, anno.Static.LIVE_VARS_OUT)
        anno.setanno(node, anno.Static.LIVE_VARS_OUT, frozenset(live | outer))
        return super()._get_block_vars(node, modified)


def transform(node, ctx):
    """As malt's control_flow.transform."""
    graphs = cfg.build(node)
    node = qual_names.resolve(node)
    node = activity.resolve(node, ctx, None)
    node = reaching_definitions.resolve(node, ctx, graphs)
    node = reaching_fndefs.resolve(node, ctx, graphs)
    node = liveness.resolve(node, ctx, graphs)
    return _Transformer(ctx).visit(node)

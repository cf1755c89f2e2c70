"""The messages that sessions are configured with, and what they tell of a run.

Most options are about machinery that Gyre does not have (accelerators, rewritings, thread pools),
and change no result; they are accepted, and kept. Those that act:
ConfigProto.operation_timeout_in_ms, inter_op_parallelism_threads, intra_op_parallelism_threads (one
pool serves both), allow_soft_placement (in this process True if it is not given), device_count of
CPUs in this process, and isolate_session_state of sessions on workers; RunOptions.timeout_in_ms,
trace_level. Those that ask for something to be told which is not told are warned of.
"""

UNHEARD_OF_SESSIONS = {
    "log_device_placement": "gyre.show and `gyre place --explain` say where nodes run",
}
UNHEARD_OF_RUNS = {
    "output_partition_graphs": "RunMetadata has no partition graphs; "
    "`gyre place --text` shows them",
    "report_tensor_allocations_upon_oom": "a run that exceeds its budget names the node alone",
    "debug_options": "gyre.debugging and gyre.timeline watch runs",
}


class _Options:
    """Named options; what is a class among the defaults is made when it is asked for."""

    _defaults: dict = {}

    def __init__(self, **given):
        for name, value in given.items():
            if name not in self._defaults:
                raise ValueError(f"{type(self).__name__} has no option {name!r}")
            setattr(self, name, value)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._defaults:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}")
        value = self._defaults[name]
        value = value() if isinstance(value, type) else value
        setattr(self, name, value)
        return value

    def HasField(self, name: str) -> bool:
        """Whether an option has been given. ValueError for one that there is not."""
        if name not in self._defaults:
            raise ValueError(f"{type(self).__name__} has no option {name!r}")
        return name in self.__dict__

    def CopyFrom(self, other) -> None:
        """Takes over what another one has."""
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items())
        return f"{type(self).__name__}({given})"


class OptimizerOptions(_Options):
    """How programs are rewritten before they run. (Gyre runs them as they are.)"""

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    _defaults = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "max_folded_constant_in_bytes": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(_Options):
    """Which rewritings are on. (Gyre runs programs as they are.)"""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    NO_MEM_OPT, DEFAULT_MEM_OPT, ONE, TWO = 1, 0, 2, 1
    _defaults = {
        name: 0
        for name in (
            "layout_optimizer",
            "constant_folding",
            "shape_optimization",
            "remapping",
            "common_subgraph_elimination",
            "arithmetic_optimization",
            "dependency_optimization",
            "loop_optimization",
            "function_optimization",
            "debug_stripper",
            "scoped_allocator_optimization",
            "implementation_selector",
            "auto_mixed_precision",
            "meta_optimizer_iterations",
            "min_graph_nodes",
            "memory_optimization",
            "pin_to_host_optimization",
            "disable_model_pruning",
            "disable_meta_optimizer",
        )
    } | {"optimizers": list}


class GraphOptions(_Options):
    """How graphs are prepared."""

    _defaults = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


class GPUOptions(_Options):
    """How accelerators are used. (There are none, so far.)"""

    _defaults = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "force_gpu_compatible": False,
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
    }


class Experimental(_Options):
    """Experimental options."""

    _defaults = {
        name: None
        for name in (
            "collective_group_leader",
            "executor_type",
            "use_numa_affinity",
            "enable_mlir_bridge",
            "disable_output_partition_graphs",
            "optimize_for_static_graph",
            "xla_fusion_autotuner_thresh",
            "share_session_state_in_clusterspec_propagation",
            "disable_thread_spinning",
            "disable_functional_ops_lowering",
            "share_cluster_devices_in_session",
        )
    }


class ConfigProto(_Options):
    """How a session runs."""

    Experimental = Experimental
    _defaults = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": list,
        "placement_period": 0,
        "device_filters": list,
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": Experimental,
    }


class RunOptions(_Options):
    """How one run goes. timeout_in_ms: it fails with DeadlineExceededError after so long.
    trace_level: anything but NO_TRACE has RunMetadata filled."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    Experimental = Experimental
    _defaults = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "report_tensor_allocations_upon_oom": False,
        "experimental": Experimental,
        "debug_options": None,
    }


class NodeExecStats(_Options):
    """What a node cost, in all its executions of a run, in microseconds."""

    _defaults = {
        "node_name": "",
        "all_start_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "op_start_rel_micros": 0,
        "timeline_label": "",
        "executions": 0,
    }


class DeviceStepStats(_Options):
    """What the nodes on one device cost."""

    _defaults = {"device": "", "node_stats": list}


class StepStats(_Options):
    """What a run cost, by device."""

    _defaults = {"dev_stats": list}


class RunMetadata(_Options):
    """What a run tells about itself, if its RunOptions ask for a trace."""

    _defaults = {
        "step_stats": StepStats,
        "cost_graph": None,
        "partition_graphs": list,
        "function_graphs": list,
    }

    def fill(self, told: dict) -> None:
        """Takes over what the engine says of a run."""
        by_device = {}
        for n in told.get("nodes") or []:
            by_device.setdefault(
                n["device"] or "/job:localhost/replica:0/task:0/device:CPU:0", []
            ).append(
                NodeExecStats(
                    node_name=n["name"],
                    timeline_label=f"{n['name']} = {n['op']}()",
                    executions=n["firings"],
                    op_end_rel_micros=n["total_nanos"] // 1000,
                    all_end_rel_micros=n["total_nanos"] // 1000,
                )
            )
        self.step_stats = StepStats(
            dev_stats=[
                DeviceStepStats(device=device, node_stats=stats)
                for device, stats in sorted(by_device.items())
            ]
        )

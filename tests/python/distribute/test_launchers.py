"""Ranks as launchers start them: each says who they are in its own variables."""

import os
import shutil
import subprocess
import sys

import pytest

from launch import free_port

_PROGRAM = """
import gyre
env = gyre.cluster.init(join_timeout=30.0)
total = gyre.distribute.all_reduce(float(env.rank)).numpy()
print(f"{env.launcher} {env.rank} of {env.size}: {total}\\n", end="")
"""


def _ranks(of_rank, n: int = 2) -> list[str]:
    """What ranks print that are started with such variables each."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI"))}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env={**own, **of_rank(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(n)
    ]
    return [process.communicate(timeout=60)[0].strip() for process in processes]


def test_torchrun():
    port = free_port()
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    assert _ranks(lambda rank: {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}) == [
        "torchrun 0 of 2: 1.0",
        "torchrun 1 of 2: 1.0",
    ]


def test_slurm():
    variables = {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_STEP_NUM_TASKS": "3",
        "SLURM_STEP_NODELIST": "localhost",
    }
    assert _ranks(lambda rank: {**variables, "SLURM_PROCID": str(rank)}, 3) == [
        f"Slurm {rank} of 3: 3.0" for rank in range(3)
    ]


def test_kubernetes():
    variables = {
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "GYRE_SIZE": "2",
        "GYRE_COORDINATOR": f"127.0.0.1:{free_port()}",
    }
    assert _ranks(lambda rank: {**variables, "JOB_COMPLETION_INDEX": str(rank)}) == [
        f"Kubernetes {rank} of 2: 1.0" for rank in range(2)
    ]


def test_tf_config():
    port = free_port()
    cluster = f'{{"worker": ["127.0.0.1:{port}", "127.0.0.1:1"]}}'
    assert _ranks(
        lambda rank: {
            "TF_CONFIG": f'{{"cluster": {cluster}, "task": {{"type": "worker", "index": {rank}}}}}'
        }
    ) == [f"TF_CONFIG {rank} of 2: 1.0" for rank in range(2)]


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI: ./dev test --long")
def test_mpirun():
    out = subprocess.run(
        [
            "mpirun",
            "--allow-run-as-root",
            "--oversubscribe",
            "-n",
            "4",
            sys.executable,
            "-c",
            _PROGRAM,
        ],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    said = sorted(line for line in out.splitlines() if line)
    assert said == [f"mpirun (Open MPI) {rank} of 4: 6.0" for rank in range(4)]

"""What the variables of each kind say, in words; a variable without any stops the generation of its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

UNBUFFERED: Final = "output of Python appears at once"
MEETING_PORT: Final = "port of the Master"
MASTER_NAME: Final = "name of the Master, also in the Master itself"
AGENT: Final = "program that mpirun calls to start its daemon in a worker"
HOSTS: Final = "the list of workers and their slots"
NO_GPU: Final = "empty, so that the launcher sees no GPU; absent if it has a limit on GPUs itself"

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "PyTorchJob": {
        "PYTHONUNBUFFERED": UNBUFFERED,
        "MASTER_PORT": MEETING_PORT + " (`pytorchjob-port` of its container `pytorch`); only where there is a Master",
        "PET_MASTER_PORT": "the same for torchrun",
        "MASTER_ADDR": MASTER_NAME + "; only where there is a Master",
        "PET_MASTER_ADDR": "the same for torchrun",
        "WORLD_SIZE": "replicas of all types, times `nprocPerNode` if that is a number; only where there is a Master",
        "RANK": "0 for the Master, then the workers; one number per pod, of which torchrun makes one for each process",
        "PET_NODE_RANK": "the same for torchrun",
        "PET_NPROC_PER_NODE": "`nprocPerNode` as given, or the deprecated `elasticPolicy.nProcPerNode`",
        "PET_NNODES": "replicas of all types; of an elastic job `minReplicas:maxReplicas`",
        "PET_RDZV_ENDPOINT": "where elastic replicas meet: `rdzvHost` or worker 0, `rdzvPort` or its port",
        "PET_RDZV_BACKEND": "`rdzvBackend`, `c10d` if that is absent",
        "PET_MAX_RESTARTS": "`maxRestarts`, if given",
        "PET_RDZV_ID": "`rdzvId`, if given",
        "PET_RDZV_CONF": "`rdzvConf`, if given, in its order",
        "PET_STANDALONE": "there, and empty, if `standalone` is true",
    },
    "TFJob": {
        "TF_CONFIG": "JSON: the addresses of all replicas by type, and the type and index of this one. Only in the "
        "container `tensorflow`, and absent in a job of one replica. Dynamic workers know only themselves and the "
        "parameter servers",
    },
    "XGBoostJob": {
        "MASTER_PORT": MEETING_PORT,
        "MASTER_ADDR": MASTER_NAME,
        "WORLD_SIZE": "replicas of both types",
        "RANK": "0 for the Master, then the workers",
        "PYTHONUNBUFFERED": UNBUFFERED,
        "WORKER_PORT": "port of the workers; absent in a job of one replica",
        "WORKER_ADDRS": "names of the workers, with commas; absent in a job of one replica",
    },
    "MPIJob": {
        "OMPI_MCA_plm_rsh_agent": f"Open MPI 4: {AGENT}",
        "OMPI_MCA_orte_default_hostfile": f"Open MPI 4: {HOSTS}",
        "NVIDIA_VISIBLE_DEVICES": NO_GPU,
        "NVIDIA_DRIVER_CAPABILITIES": "empty, likewise",
        "I_MPI_HYDRA_BOOTSTRAP": "Intel MPI: start daemons by such a program",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": f"Intel MPI: {AGENT}",
        "PRTE_MCA_plm_ssh_agent": f"Open MPI 5: {AGENT}",
        "PRTE_MCA_prte_default_hostfile": f"Open MPI 5: {HOSTS}",
        "OMPI_MCA_plm_rsh_no_tree_spawn": "Open MPI 4: only the launcher starts daemons, as workers have no keys",
        "PRTE_MCA_plm_ssh_no_tree_spawn": "Open MPI 5: the same",
    },
    "PaddleJob": {
        "PYTHONUNBUFFERED": UNBUFFERED,
        "PADDLE_JOB_ID": "name of the job",
        "PADDLE_NNODES": "replicas of all types",
        "PADDLE_MASTER": "where they meet: Master 0, or worker 0 without one; that pod itself gets its own address",
        "POD_IP_DUMMY": "its address, filled in by Kubernetes; only in the pod where the others meet",
        "PADDLE_SERVER_NUM": "1, in a Master",
        "PADDLE_TRAINER_NUM": "1, in a Worker of a job with a Master",
    },
    "JAXJob": {
        "PYTHONUNBUFFERED": UNBUFFERED,
        "COORDINATOR_PORT": "port of worker 0",
        "COORDINATOR_ADDRESS": "name of worker 0, also in worker 0 itself; the program joins it with the port",
        "NUM_PROCESSES": "number of workers",
        "PROCESS_ID": "index of this worker",
    },
}

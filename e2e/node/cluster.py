"""The provider `node`: a control plane and a node of real programs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from e2e.harness.binaries import CONTROL_PLANE, COSCHEDULER, NODE, programs
from e2e.harness.cluster import Cluster
from e2e.node.box import USUAL, Size, box
from e2e.node.control_plane import ControlPlane
from e2e.node.place import reserved
from e2e.node.requirements import require
from e2e.node.worker import Worker


@contextmanager
def node(size: Size = USUAL) -> Iterator[Cluster]:
    """Run a cluster of one node until the context is left; nothing of it stays, even if this process is killed."""
    require()
    binaries = programs((*CONTROL_PLANE, *NODE, *((COSCHEDULER,) if size.gangs else ())))
    with reserved() as place:
        place.folder.mkdir(parents=True, mode=0o700)
        with box(place, binaries["pause"], size) as inside:
            control_plane = ControlPlane(inside, binaries)
            worker = Worker(inside, binaries, control_plane)
            control_plane.start_api()
            worker.start_containers()  # while the API server starts
            control_plane.wait_for_api()
            cluster = Cluster("node", control_plane.kubeconfig("admin"), str(binaries["kubectl"]))
            control_plane.start_controllers()
            worker.start_node()
            cluster.apply_crds()
            if size.gangs:
                cluster.apply_crds(binaries["coscheduler-crds"])
                control_plane.start_coscheduler()
            control_plane.wait_for_controllers()
            worker.wait_for_node(cluster)
            yield cluster

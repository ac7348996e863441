"""An invented survey of a fleet: what its page has to cope with, the same each time."""

from __future__ import annotations

import random
from typing import Any, Final

from training_migration.report.fleet import as_html
from training_migration.report.jobs import report
from training_migration.report.since import progress

Json = dict[str, Any]

JOBS: Final = 300
_TEAMS: Final = ("vision", "speech", "ads", "robotics", "search")
_KINDS: Final = ("PyTorchJob", "PyTorchJob", "PyTorchJob", "TFJob", "MPIJob", "JAXJob", "XGBoostJob")
_RULES: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    ("MIG107", "warning", "A host name as v1 made them", "worker-0 is a name of v1.", "Read `PET_MASTER_ADDR`."),
    ("MIG202", "info", "Worker i becomes node i + 1", "worker i is node i + 1; the master is node 0.", "Nothing."),
    ("MIG205", "error", "Dynamic workers of TensorFlow", "workers cannot be added while it runs.", "Stay with v1."),
    ("MIG207", "warning", "The image of an MPI job needs SSH", "the image needs `sshd`.", "Add an SSH server to it."),
    ("MIG305", "warning", "What remains of the pods", "pods that still run are deleted.", "Collect logs before."),
    ("MIG403", "error", "Something waits for a condition that v2 does not have", "it waits for Succeeded.",
     "Wait for `Complete`."),
)  # fmt: skip
_OFTEN: Final = (0.1, 0.5, 0.02, 0.15, 0.4, 0.08)
_VERDICTS: Final = {"error": "needs-work", "warning": "equivalent", "info": "exact"}
_DIFF: Final = (
    '<section class="mig"><p class="maybe"><strong>differs in life cycle only</strong></p><table><tr><th>severity</th>'
    "<th>aspect</th><th>what</th><th>v1</th><th>v2</th></tr><tr><td>info</td><td>life cycle</td>"
    "<td>when the job has ended</td><td>all pods stay</td><td>running pods are deleted</td></tr></table></section>"
)


def _job(number: int, chance: random.Random) -> Json:
    team, kind = chance.choice(_TEAMS), chance.choice(_KINDS)
    found = [rule for rule, often in zip(_RULES, _OFTEN, strict=True) if chance.random() < often]
    severities = [rule[1] for rule in found]
    verdict = next((_VERDICTS[each] for each in ("error", "warning") if each in severities), "exact")
    if "MIG205" in [rule[0] for rule in found]:
        verdict = "impossible"
    ref = {"kind": kind, "namespace": f"team-{team}", "name": f"{team}-{kind.lower()}-{number:03}",
           "source": f"clusters/production/{team}/jobs/{kind.lower()}-{number:03}.yaml", "line": 1}  # fmt: skip
    findings = [
        {"id": id_, "severity": severity, "title": title, "path": "spec", "source": ref["source"], "line": 1,
         "message": message, "remedy": remedy, "reference": "", "fixed": False}
        for id_, severity, title, message, remedy in found
    ]  # fmt: skip
    reason = next((each["message"] for each in findings if each["severity"] == "error"), "")
    return {"ref": ref, "owner": team if number % 7 else "", "verdict": verdict, "reason": reason, "rejected": "",
            "error": "", "findings": findings}  # fmt: skip


def html() -> str:
    """The page of three hundred jobs, a month after a first survey."""
    chance = random.Random(17)
    jobs = [_job(number, chance) for number in range(JOBS)]
    jobs[5] |= {"verdict": None, "error": "It is not valid YAML: a tab where spaces belong.", "findings": []}
    before = [{**job, "verdict": "impossible"} if at % 11 == 0 else job for at, job in enumerate(jobs[20:])]
    now = jobs[:-40]
    content = report("2.3", "", now, {"v1 ConfigMap": 112, "v1 Service": 9})
    content["tool"] = "training-operator"
    content["since"] = progress(report("2.3", "", before), now, "october.json")
    return as_html(content, dict.fromkeys(range(0, len(now), 2), _DIFF))

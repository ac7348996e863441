"""Config maps, secrets, service accounts, volume claims: defaults and validation."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

from training_api import quantity
from training_local.apiserver import names
from training_local.apiserver.builtin.container_validation import each
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.builtin.syntax import data_key
from training_local.apiserver.errors import Cause, Json, forbidden_value, invalid, not_supported, required

DATA_LIMIT = 1024 * 1024
"""Bytes that the values of a config map or secret may have together."""
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
SERVICE_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"
_REQUIRED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""Type of a secret -> keys that its data must have."""
_FROZEN = "field is immutable when `immutable` is set"


def _size(values: Iterable[str]) -> int:
    return sum(len(value.encode()) for value in values)


def _too_long(path: str) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {DATA_LIMIT} bytes", path)


def config_map_causes(config: Json) -> Iterator[Cause]:
    """Check a config map."""
    data, binary = config.get("data", {}), config.get("binaryData", {})
    for key in data:
        yield from each(f"data[{key}]", key, data_key)
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from each(f"binaryData[{key}]", key, data_key)
    if _size(data.values()) + _size(binary.values()) * 3 // 4 > DATA_LIMIT:
        yield _too_long("[]")


def frozen_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check that nothing changes in a config map or secret that was declared immutable."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden_value("immutable", _FROZEN)
    for field in ("data", "binaryData"):
        if old.get(field, {}) != new.get(field, {}):
            yield forbidden_value(field, _FROZEN)


def default_secret(secret: Json) -> None:
    """Fill in the type, and turn plain text into encoded data."""
    secret.setdefault("type", "Opaque")
    if plain := secret.pop("stringData", None):
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        secret["data"] = {**secret.get("data", {}), **encoded}


def secret_causes(secret: Json) -> Iterator[Cause]:
    """Check a secret; values never stand in a cause."""
    data, kind = secret.get("data", {}), secret["type"]
    for key in data:
        yield from each(f"data[{key}]", key, data_key)
    if _size(data.values()) * 3 // 4 > DATA_LIMIT:
        yield _too_long("data")
    annotations = secret["metadata"].get("annotations", {})
    if kind == "kubernetes.io/service-account-token" and not annotations.get(SERVICE_ACCOUNT_ANNOTATION):
        yield required(f"metadata.annotations[{SERVICE_ACCOUNT_ANNOTATION}]")
    for key in _REQUIRED_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif kind.startswith("kubernetes.io/docker") and not _is_json(data[key]):
            yield invalid(f"data[{key}]", "<secret contents redacted>", "must be a JSON object")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield required("data[username]")
        yield required("data[password]")


def _is_json(encoded: str) -> bool:
    try:
        return isinstance(json.loads(base64.b64decode(encoded)), dict)
    except ValueError:
        return False


def secret_update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check a change of a secret."""
    if old["type"] != new["type"]:
        yield invalid("type", new["type"], "field is immutable")
    yield from frozen_causes(old, new)


def default_claim(claim: Json) -> None:
    """Fill in the defaults of a volume claim."""
    claim["spec"].setdefault("volumeMode", "Filesystem")
    claim["status"].setdefault("phase", "Pending")


def claim_causes(claim: Json) -> Iterator[Cause]:
    """Check a volume claim."""
    spec = claim["spec"]
    modes = spec.get("accessModes", [])
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported("spec.accessModes", mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden_value("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    size = spec["resources"].get("requests", {}).get("storage")
    if size is None:
        yield required("spec.resources[storage]")
    elif quantity.parse(size) <= 0:
        yield invalid("spec.resources[storage]", size, "must be greater than zero")
    if name := spec.get("storageClassName"):
        yield from each("spec.storageClassName", name, names.subdomain)


def claim_update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check a change of a volume claim: only its size may grow, and its volume may be named."""
    # The volume is named once, by whoever binds the claim.
    unnamed = () if old["spec"].get("volumeName") else ("volumeName",)
    free = ("resources", "volumeAttributesClassName", *unnamed)
    before, after = ({name: value for name, value in each["spec"].items() if name not in free} for each in (old, new))
    if before != after:
        said = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield forbidden_value("spec", said)


CONFIG_MAP_RULES = BuiltinRules(
    "io.k8s.api.core.v1.ConfigMap",
    "v1",
    validate=config_map_causes,
    validate_update=frozen_causes,
    has_status=False,
)
SECRET_RULES = BuiltinRules(
    "io.k8s.api.core.v1.Secret",
    "v1",
    default=default_secret,
    validate=secret_causes,
    validate_update=secret_update_causes,
    has_status=False,
)
SERVICE_ACCOUNT_RULES = BuiltinRules("io.k8s.api.core.v1.ServiceAccount", "v1", has_status=False)
CLAIM_RULES = BuiltinRules(
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "v1",
    default=default_claim,
    initial_status=lambda claim, context: {"phase": "Pending"},
    validate=claim_causes,
    validate_update=claim_update_causes,
)

"""What a request is about as far as rights are concerned (Kubernetes: RequestInfo), before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass

from training_local.apiserver.options import Query

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")
_BY_NAME = "metadata.name="
_UPGRADED = (("pods", "exec"), ("pods", "portforward"))


@dataclass(frozen=True, slots=True)
class Attributes:
    """A verb and what it is for: a resource, or a path that is none."""

    verb: str
    path: str = ""
    """Given where the request is about no resource."""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def qualified(self) -> str:
        """Return the resource as rules name it: `pods`, `pods/exec`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes(method: str, path: str, query: Query) -> Attributes:
    """Read a request; a path that leads nowhere has attributes, too, so that only who may look learns that."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return Attributes(method.lower(), path=path)
    namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 1 else ""
    if namespace and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    verb = _verb(method, (resource, subresource), name, query)
    if verb in ("list", "watch", "deletecollection"):
        selector = query.get("fieldSelector", "")
        name = selector.removeprefix(_BY_NAME) if selector.startswith(_BY_NAME) and "," not in selector else ""
    return Attributes(verb, "", group, resource, subresource, namespace, name)


def _verb(method: str, of: tuple[str, str], name: str, query: Query) -> str:
    verb = _VERBS.get(method, "")
    if of in _UPGRADED and verb == "get":
        # A WebSocket opens with GET. The real server asks for the right to `create` there as well since 1.35; before,
        # `get` was enough, though kubectl's older protocol needed `create`, which roles therefore grant.
        return "create"
    if not name and verb == "get":
        return "watch" if query.get("watch") in ("true", "1") else "list"
    return "deletecollection" if not name and verb == "delete" else verb

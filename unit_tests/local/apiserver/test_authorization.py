"""Who may do what, as the real server's RBAC says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from training_local.apiserver.attributes import Attributes, attributes
from training_local.apiserver.authorization import Rights, permits
from training_local.apiserver.errors import ApiError
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_local.apiserver.users import OWNER, ServiceAccount, Tokens, User
from training_operator.kube.transport import Request, Response

Json = dict[str, Any]

TRAINER = ServiceAccount("red", "trainer", "1")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/red/pods"


REQUESTS = [
    ("GET", PODS, {}, Attributes("list", resource="pods", namespace="red")),
    ("GET", PODS, {"watch": "true"}, Attributes("watch", resource="pods", namespace="red")),
    ("GET", "/api/v1/pods", {"watch": "1"}, Attributes("watch", resource="pods")),
    (
        "GET",
        PODS,
        {"fieldSelector": "metadata.name=a"},
        Attributes("list", resource="pods", namespace="red", name="a"),
    ),
    ("GET", f"{PODS}/a", {}, Attributes("get", resource="pods", namespace="red", name="a")),
    ("HEAD", f"{PODS}/a", {}, Attributes("get", resource="pods", namespace="red", name="a")),
    ("POST", PODS, {}, Attributes("create", resource="pods", namespace="red")),
    ("PUT", f"{PODS}/a", {}, Attributes("update", resource="pods", namespace="red", name="a")),
    ("PATCH", f"{PODS}/a/status", {}, Attributes("patch", "", "", "pods", "status", "red", "a")),
    ("DELETE", f"{PODS}/a", {}, Attributes("delete", resource="pods", namespace="red", name="a")),
    ("DELETE", PODS, {}, Attributes("deletecollection", resource="pods", namespace="red")),
    ("GET", f"{PODS}/a/log", {}, Attributes("get", "", "", "pods", "log", "red", "a")),
    ("POST", f"{PODS}/a/exec", {}, Attributes("create", "", "", "pods", "exec", "red", "a")),
    ("GET", f"{PODS}/a/exec", {}, Attributes("create", "", "", "pods", "exec", "red", "a")),
    ("GET", "/api/v1/namespaces/red", {}, Attributes("get", resource="namespaces", namespace="red", name="red")),
    (
        "PUT",
        "/api/v1/namespaces/red/finalize",
        {},
        Attributes("update", "", "", "namespaces", "finalize", "red", "red"),
    ),
    ("GET", "/api/v1/namespaces", {}, Attributes("list", resource="namespaces")),
    ("GET", "/apis/apps/v1/deployments", {}, Attributes("list", group="apps", resource="deployments")),
    ("GET", "/apis/nosuch.io/v1/things/a", {}, Attributes("get", group="nosuch.io", resource="things", name="a")),
    ("GET", "/api/v1", {}, Attributes("get", path="/api/v1")),
    ("GET", "/apis/apps/v1", {}, Attributes("get", path="/apis/apps/v1")),
    ("POST", "/metrics", {}, Attributes("post", path="/metrics")),
]


@pytest.mark.parametrize(("method", "path", "query", "expected"), REQUESTS)
def test_what_a_request_is_about(method: str, path: str, query: dict[str, str], expected: Attributes) -> None:
    assert attributes(method, path, query) == expected


def rule(verbs: str = "get", groups: str = "-", resources: str = "pods", **more: Any) -> Json:
    names = [group.strip("-") for group in groups.split()]
    return {"verbs": verbs.split(), "apiGroups": names, "resources": resources.split(), **more}


POD = Attributes("get", resource="pods", namespace="red", name="a")
EXEC = Attributes("create", "", "", "pods", "exec", "red", "a")
PATH = Attributes("get", path="/metrics/cadvisor")
RULES = [
    (rule(), POD, True),
    (rule("list watch"), POD, False),
    (rule("*"), POD, True),
    (rule(groups="apps"), POD, False),
    (rule(groups="apps -"), POD, True),
    (rule(groups="*"), POD, True),
    (rule(resources="secrets"), POD, False),
    (rule(resources="*"), POD, True),
    (rule(resourceNames=["a", "b"]), POD, True),
    (rule(resourceNames=["b"]), POD, False),
    (rule(resourceNames=[]), POD, True),
    (rule(resourceNames=["a"]), Attributes("list", resource="pods", namespace="red"), False),
    (rule("create"), EXEC, False),
    (rule("create", resources="pods/exec"), EXEC, True),
    (rule("create", resources="pods/*"), EXEC, False),
    (rule("create", resources="*/exec"), EXEC, True),
    (rule("create", resources="*"), EXEC, True),
    (rule("get", resources="pods/exec"), EXEC, False),
    (rule("create", resources="pods/exec", resourceNames=["b"]), EXEC, False),
    (rule(resources="pods/exec"), POD, False),
    ({"verbs": ["get"], "nonResourceURLs": ["/metrics/*"]}, PATH, True),
    ({"verbs": ["get"], "nonResourceURLs": ["/metrics"]}, PATH, False),
    ({"verbs": ["get"], "nonResourceURLs": ["*"]}, PATH, True),
    ({"verbs": ["get"], "nonResourceURLs": ["*"]}, POD, False),
    (rule("*", "*", "*"), PATH, False),
]


@pytest.mark.parametrize(("given", "asked", "allowed"), RULES)
def test_what_a_rule_permits(given: Json, asked: Attributes, allowed: bool) -> None:
    assert permits(given, asked) is allowed


def binding(kind: str, role: str, *subjects: Json, namespace: str = "") -> Json:
    return {
        "metadata": {"name": "b", **({"namespace": namespace} if namespace else {})},
        "subjects": list(subjects),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
    }


ACCOUNT = {"kind": "ServiceAccount", "name": "trainer", "namespace": "red"}
READER = {"metadata": {"name": "reader"}, "rules": [rule("get list")]}


def rights(user: User = TRAINER.user, **stored: list[Json]) -> Rights:
    def listing(plural: str, namespace: str) -> list[Json]:
        found = stored.get(plural, [])
        return [each for each in found if each["metadata"].get("namespace", "") == namespace]

    return Rights(user, listing)


def in_red(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "red"}}


BINDINGS = [
    (ACCOUNT, True),
    ({"kind": "ServiceAccount", "name": "trainer"}, True),  # of the binding's own namespace
    ({"kind": "ServiceAccount", "name": "trainer", "namespace": "blue"}, False),
    ({"kind": "ServiceAccount", "name": "other", "namespace": "red"}, False),
    ({"kind": "User", "name": "system:serviceaccount:red:trainer"}, True),
    ({"kind": "User", "name": "trainer"}, False),
    ({"kind": "Group", "name": "system:serviceaccounts:red"}, True),
    ({"kind": "Group", "name": "system:serviceaccounts"}, True),
    ({"kind": "Group", "name": "system:authenticated"}, True),
    ({"kind": "Group", "name": "system:masters"}, False),
    ({"kind": "Group", "name": "trainer"}, False),
]


@pytest.mark.parametrize(("subject", "allowed"), BINDINGS)
def test_whom_a_binding_means(subject: Json, allowed: bool) -> None:
    asker = rights(roles=[in_red(READER)], rolebindings=[binding("Role", "reader", subject, namespace="red")])
    assert asker.decide(POD).allowed is allowed


def test_a_binding_reaches_as_far_as_its_namespace() -> None:
    elsewhere = Attributes("get", resource="pods", namespace="blue", name="a")
    local = rights(clusterroles=[READER], rolebindings=[binding("ClusterRole", "reader", ACCOUNT, namespace="red")])
    assert (local.decide(POD).allowed, local.decide(elsewhere).allowed) == (True, False)
    everywhere = rights(clusterroles=[READER], clusterrolebindings=[binding("ClusterRole", "reader", ACCOUNT)])
    assert (everywhere.decide(POD).allowed, everywhere.decide(elsewhere).allowed) == (True, True)
    admin = rights(clusterrolebindings=[binding("ClusterRole", "cluster-admin", ACCOUNT)])
    assert admin.decide(Attributes("delete", resource="nodes", name="n")).allowed
    assert admin.decide(Attributes("get", path="/metrics")).allowed


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis", "/apis/apps/v1", "/version", "/openapi/v3", "/readyz"])
def test_everybody_may_learn_what_the_api_offers(path: str) -> None:
    assert rights().decide(Attributes("get", path=path)).allowed
    assert not rights().decide(Attributes("post", path=path)).allowed


def test_a_denial_names_a_role_that_is_missing() -> None:
    lost = binding("Role", "lost", ACCOUNT, namespace="red")
    decision = rights(rolebindings=[lost]).decide(POD)
    assert decision.problem == 'RBAC: role.rbac.authorization.k8s.io "lost" not found'
    both = rights(rolebindings=[lost], clusterrolebindings=[binding("ClusterRole", "gone", ACCOUNT)]).decide(POD)
    gone = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert both.problem == f'RBAC: [{gone}, role.rbac.authorization.k8s.io "lost" not found]'


class Server:
    """An API server with a namespace `red` and the service account `trainer`."""

    def __init__(self) -> None:
        self.api = ApiServer(BUILTIN, lambda definition: ())
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "red"}}, user=OWNER)
        made = self.ask("POST", "/api/v1/namespaces/red/serviceaccounts", {"metadata": {"name": "trainer"}}, user=OWNER)
        self.account = ServiceAccount("red", "trainer", made["metadata"]["uid"])

    def ask(self, method: str, path: str, body: Json | None = None, user: User = TRAINER.user) -> Json:
        content = json.dumps(body).encode() if body is not None else None
        answer = self.api.handle(Request(method, path, body=content), user)
        assert isinstance(answer, Response)
        found: Json = json.loads(answer.body)
        return found

    def grant(self, *rules: Json) -> None:
        self.ask("POST", f"{RBAC}/namespaces/red/roles", {"metadata": {"name": "r"}, "rules": list(rules)}, user=OWNER)
        bound = {**binding("Role", "r", ACCOUNT), "metadata": {"name": "r"}}
        assert "code" not in self.ask("POST", f"{RBAC}/namespaces/red/rolebindings", bound, user=OWNER)


def test_rights_come_and_go_with_stored_roles() -> None:
    server = Server()
    assert server.ask("GET", PODS)["code"] == 403
    server.grant(rule("get list"))
    assert server.ask("GET", PODS)["items"] == []
    assert server.ask("GET", "/api/v1/pods")["code"] == 403
    assert server.ask("GET", f"{PODS}/a")["code"] == 404
    assert server.ask("DELETE", PODS)["code"] == 403
    server.ask("DELETE", f"{RBAC}/namespaces/red/rolebindings/r", user=OWNER)
    assert server.ask("GET", PODS)["code"] == 403


AT_THE_REAL_SERVER = [
    ("/api/v1/namespaces/red/secrets", "secrets", 'list resource "secrets" in API group "" in the namespace "red"'),
    (f"{PODS}/a", 'pods "a"', 'get resource "pods" in API group "" in the namespace "red"'),
    ("/api/v1/namespaces/red", 'namespaces "red"', 'get resource "namespaces" in API group "" in the namespace "red"'),
    ("/apis/apps/v1/jobs", "jobs.apps", 'list resource "jobs" in API group "apps" at the cluster scope'),
    ("/apis/no.io/v1/things", "things.no.io", 'list resource "things" in API group "no.io" at the cluster scope'),
    ("/metrics", "", 'get path "/metrics"'),
]


@pytest.mark.parametrize(("path", "what", "cannot"), AT_THE_REAL_SERVER)
def test_denials_are_those_of_kube_apiserver_1_34(path: str, what: str, cannot: str) -> None:
    """Also of a path that leads nowhere: only who may look learns that."""
    answer = Server().ask("GET", path)
    is_forbidden = f"{what} is forbidden" if what else "forbidden"
    assert answer["message"] == f'{is_forbidden}: User "system:serviceaccount:red:trainer" cannot {cannot}'
    name = what.partition('"')[2].strip('"')
    kind, _, group = what.partition(" ")[0].partition(".")
    expected = {"name": name, "group": group, "kind": kind}
    assert answer["details"] == {key: value for key, value in expected.items() if value}


def test_reviews_answer_a_service_account_truly() -> None:
    server = Server()
    server.grant(rule("create", resources="pods/exec", resourceNames=["a"]))

    def may(**asked: str) -> Any:
        spec = {"resourceAttributes": {"namespace": "red", **asked}}
        answer = server.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec})
        return answer["status"]["allowed"]

    assert may(verb="create", resource="pods", subresource="exec", name="a") is True
    assert may(verb="create", resource="pods", subresource="exec", name="b") is False
    assert may(verb="create", resource="pods", subresource="exec") is False
    who = server.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert who["status"]["userInfo"]["username"] == "system:serviceaccount:red:trainer"
    spec = {"spec": {"namespace": "red"}}
    listed = server.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", spec)["status"]
    expected = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"], "resourceNames": ["a"]}
    assert expected in listed["resourceRules"]
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} not in listed["resourceRules"]


def test_rules_are_those_of_a_namespace() -> None:
    answer = Server().ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {}})
    assert (answer["code"], answer["message"]) == (400, "no namespace on request")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ([], "array into Go struct field SelfSubjectAccessReview.spec of type v1.SelfSubjectAccessReviewSpec"),
        (
            {"nonResourceAttributes": {"path": 1}},
            "number into Go struct field NonResourceAttributes.spec.nonResourceAttributes.path of type string",
        ),
        (
            {"resourceAttributes": {"verb": []}},
            "array into Go struct field ResourceAttributes.spec.resourceAttributes.verb of type string",
        ),
    ],
)
def test_a_review_of_another_shape_is_rejected_as_by_the_real_server(spec: object, words: str) -> None:
    answer = Server().ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": spec})
    kind = "SelfSubjectAccessReview"
    said = f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal {words}'
    assert (answer["code"], answer["reason"], answer["message"]) == (400, "BadRequest", said)


def test_a_token_is_good_for_one_account_as_long_as_that_is_there() -> None:
    server = Server()
    tokens = Tokens("the-owner's", server.api.has)
    token = tokens.issue(server.account)
    assert tokens.user(f"Bearer {token}") == server.account.user
    assert tokens.user("Bearer the-owner's") == OWNER
    again = tokens.issue(server.account)
    tokens.revoke(token)
    tokens.revoke("the-owner's")
    assert tokens.user("Bearer the-owner's") == OWNER
    for wrong in ("", token, f"Bearer {token}", f"Basic {again}", f"Bearer {again} ", "Bearer "):
        with pytest.raises(ApiError, match="Unauthorized"):
            tokens.user(wrong)
    server.ask("DELETE", "/api/v1/namespaces/red/serviceaccounts/trainer", user=OWNER)
    server.ask("POST", "/api/v1/namespaces/red/serviceaccounts", {"metadata": {"name": "trainer"}}, user=OWNER)
    with pytest.raises(ApiError, match="Unauthorized"):
        tokens.user(f"Bearer {again}")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(scheme: str) -> None:
    """The official Python client writes `bearer` inside a pod."""
    tokens = Tokens("secret", lambda account: True)
    token = tokens.issue(TRAINER)
    assert tokens.user(f"{scheme} secret") == OWNER
    assert tokens.user(f"{scheme} {token}") == TRAINER.user
    for wrong in (f"{scheme}secret", f"{scheme}  secret", f"x{scheme} secret", scheme, "secret"):
        with pytest.raises(ApiError, match="Unauthorized"):
            tokens.user(wrong)

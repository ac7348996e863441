"""Strategies for the values in bodies: objects that are nearly right, and some that no client would send."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]


def words(text: str) -> Strategy:
    """One of some words."""
    return st.sampled_from(text.split())


def chosen(values: Sequence[Any]) -> Strategy:
    """One of some values, which may be too long to be shown by hypothesis."""
    return st.integers(0, len(values) - 1).map(values.__getitem__)


NAMES = words("a b default kube-system widgets.x.io")
META_KEYS = (
    "labels annotations finalizers ownerReferences uid resourceVersion generateName creationTimestamp managedFields "
    "deletionTimestamp deletionGracePeriodSeconds namespace generation"
)
KEYS = words(
    f"{META_KEYS} metadata name kind apiVersion spec status containers image replicas data stringData target "
    "preconditions gracePeriodSeconds propagationPolicy dryRun orphanDependents deleteOptions op path value group "
    "versions names plural schema ports clusterIP type env controller conditions phase $patch $retainKeys "
    "$setElementOrder/containers $deleteFromPrimitiveList/finalizers ~1 .. __proto__"
)
ODD_NUMBERS = st.sampled_from([2**63, -(2**63) - 1, 2**200, 1e308, -1e-320, 0.1 + 0.2, -0.0])
ODD_TEXTS = chosen(["\0", "a\0b", "x" * 70_000, "../..", "\n", "é", "a" * 50 + "!", "\U0001d4b3"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | NAMES
    | ODD_NUMBERS
    | ODD_TEXTS
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
META = st.fixed_dictionaries({"name": NAMES}, optional=dict.fromkeys(META_KEYS.split(), VALUES))
CONTAINERS = st.just([{"name": "c", "image": "i"}]) | VALUES
SPEC = st.fixed_dictionaries({}, optional={"containers": CONTAINERS, "nodeName": NAMES, "ports": VALUES}) | VALUES
OBJECTS = st.fixed_dictionaries(
    {"metadata": META | st.just({"name": "a"})},
    optional={
        "spec": SPEC,
        "status": VALUES,
        "data": VALUES,
        "target": VALUES,
        "kind": words("Pod ConfigMap Widget Scale x"),
        "apiVersion": words("v1 fidelity.example.com/v1 x/y/z"),
    },
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "gracePeriodSeconds": st.integers(-1, 3) | LEAVES,
        "propagationPolicy": words("Foreground Background Orphan x") | VALUES,
        "preconditions": VALUES,
        "dryRun": VALUES,
        "orphanDependents": VALUES,
    },
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": words("add remove replace move copy test x"),
            "path": words(
                "/metadata/labels/a /spec /spec/- / x /metadata/name /spec/containers/99999999999999999999 /~2"
            ),
        },
        optional={"value": VALUES, "from": words("/metadata /spec /")},
    ),
    max_size=3,
)

TYPES = words("object array string integer number boolean x") | LEAVES
_SCHEMA_LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "pattern": words("a ^(a+)+$ [ (?=a) (a|b)* \\d+ \\p{L} (?P<n>a)\\1") | LEAVES,
        "format": words("date-time int-or-string int32 uuid x") | LEAVES,
        "default": VALUES,
        "enum": st.lists(LEAVES, max_size=3) | LEAVES,
        "minimum": LEAVES,
        "maxLength": LEAVES,
        "multipleOf": LEAVES,
        "uniqueItems": LEAVES,
        "nullable": LEAVES,
        "required": st.lists(KEYS | LEAVES, max_size=2) | LEAVES,
        "x-kubernetes-preserve-unknown-fields": LEAVES,
        "x-kubernetes-int-or-string": LEAVES,
        "x-kubernetes-embedded-resource": LEAVES,
        "x-kubernetes-list-type": words("set map atomic x"),
        "x-kubernetes-list-map-keys": st.lists(KEYS, max_size=2),
        "x-kubernetes-map-type": words("granular atomic x"),
        "x-kubernetes-validations": st.lists(
            st.fixed_dictionaries(
                {
                    "rule": words(
                        "true self self==oldSelf self.size()>0 ((( self.x self[0] 1/0 [1,2].all(i,i>0) has(self.x)"
                    )
                    | LEAVES
                },
                optional={"message": LEAVES, "messageExpression": LEAVES, "fieldPath": LEAVES, "reason": LEAVES},
            ),
            max_size=2,
        ),
        "$ref": LEAVES,
    },
)
SCHEMAS = st.recursive(
    _SCHEMA_LEAVES | VALUES,
    lambda inner: st.fixed_dictionaries(
        {"type": words("object array object")},
        optional={
            "properties": st.dictionaries(KEYS, inner, max_size=3),
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "allOf": st.lists(inner, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=8,
)
_VERSION: Strategy = st.fixed_dictionaries(
    {
        "name": words("v1 v1beta1 V1 x"),
        "served": st.booleans(),
        "storage": st.booleans(),
        "schema": st.fixed_dictionaries({"openAPIV3Schema": SCHEMAS}),
    },
    optional={
        "subresources": st.just({"status": {}}) | VALUES,
        "additionalPrinterColumns": st.lists(
            st.fixed_dictionaries(
                {
                    "name": LEAVES,
                    "type": words("string date integer x"),
                    "jsonPath": words(".spec .a[0] .{ [ .a[?(@.b==1)] .a..b"),
                }
            ),
            max_size=2,
        )
        | VALUES,
        "selectableFields": VALUES,
    },
)
DEFINITIONS = st.fixed_dictionaries(
    {
        "metadata": st.just({"name": "things.x.io"}) | META,
        "spec": st.fixed_dictionaries(
            {
                "group": words("x.io x.io y") | LEAVES,
                "scope": words("Namespaced Cluster x"),
                "names": st.just({"plural": "things", "kind": "Thing"}) | VALUES,
                "versions": st.lists(_VERSION, max_size=2) | VALUES,
            },
            optional={"conversion": VALUES, "preserveUnknownFields": LEAVES},
        ),
    },
)

DEEP = 20_000
_BROKEN = (
    b"",
    b"[" * DEEP,
    b'{"metadata":' * DEEP,
    b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    b'{"spec":' * 900 + b"1" + b"}" * 900,
    b'{"metadata":{"name":"a"},"data":{"n":' + b"9" * 10_000 + b"}}",
    b'{"metadata":{"name":"a"},"spec":{"n":1e999999}}',
    b'{"metadata":{"name":"a\\u0000"}}',
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"metadata":{"name":"\xff\xfe"}}',
    b'{"metadata":{"name":"a"},"metadata":{"name":"b"}}',
    b'{"metadata":{"name":NaN}}',
    b"\xef\xbb\xbf{}",
    b"kind: &a [*a]\n",
    b"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c]\ne: [*d,*d,*d,*d]\n",
    b"metadata: !!python/object/apply:os.system [true]\n",
    b"metadata: {name: a}\ndata: {a: 0x1, b: 12:30, c: 2020-01-01, d: .inf, ? [x] : y}\n",
    b"- - - - -\n\t:",
    b"k8s\0",
    b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\xff\xff\xff\xff\x0f",
    b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x0a\x7f",
    b"k8s\0" + b"\x0a\x80" * 2000,
)
GARBAGE = (
    chosen(_BROKEN)
    | st.binary(max_size=40)
    | st.binary(max_size=40).map(lambda tail: b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12" + tail)
)


def encoded(value: Any) -> bytes:
    """JSON as a client would send it."""
    return json.dumps(value).encode()

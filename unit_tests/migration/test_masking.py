"""What looks like a credential is not shown, and everything else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.support.at_most import at_most
from e2e.support.paths import ROOT

from training_api.yaml_text import dump
from training_migration.masking import LAST_APPLIED, MASK, is_credential, mask_text, masked


@pytest.mark.parametrize(
    "name",
    [
        "PASSWORD",
        "DB_PASSWORD",
        "pgPassword",
        "PGPASSWORD",
        "identitytoken",
        "HF_TOKEN",
        "WANDB_API_KEY",
        "apikey",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "storage-account-key",
        "SSH_PRIVATE_KEY",
        "--api-token",
        "GITHUB_PAT",
        "MLFLOW_TRACKING_PASSWORD",
        "GOOGLE_CREDENTIALS",
        "clientSecret",
    ],
)
def test_credentials_are_known_by_their_names(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize(
    "name",
    [
        "MASTER_ADDR",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "TOKEN_FILE",
        "secretName",
        "GOOGLE_APPLICATION_CREDENTIALS_PATH",
        "KEY",
        "keyboard",
        "PATH",
        "PATIENCE",
        "COMPASS",
        "automount",
        "",
        "tokenExpirationSeconds",
    ],
)
def test_other_names_are_no_credentials(name: str) -> None:
    assert not is_credential(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("python train.py --lr 0.1 --out s3://b/x", "python train.py --lr 0.1 --out s3://b/x"),
        ("export HF_TOKEN=abc; run", f"export HF_TOKEN={MASK} run"),
        ("A=1 API_KEY='a b' run", f"A=1 API_KEY={MASK} run"),
        ("run --token abc --lr 1", f"run --token {MASK} --lr 1"),
        ("run --wandb-api-key=abc", f"run --wandb-api-key={MASK}"),
        (
            "run --token $HF_TOKEN --key=${API_KEY} --password=$(PW)",
            "run --token $HF_TOKEN --key=${API_KEY} --password=$(PW)",
        ),
        ("postgres://me:hunter2@db:5432/x", f"postgres://me:{MASK}@db:5432/x"),
        ("redis://:hunter2@db", f"redis://:{MASK}@db"),
        ("https://host:8080/path@x", "https://host:8080/path@x"),
        ("curl -H 'Authorization: Bearer abcdefghij'", f"curl -H 'Authorization: Bearer {MASK}'"),
        ("user: me\npassword: hunter2\nport: 1", f"user: me\npassword: {MASK}\nport: 1"),
        ('{"password": "hunter2", "a": 1}', f'{{"password": {MASK}, "a": 1}}'),
        ("it: has[--token abc] --x", f"it: has[--token {MASK} --x"),
        ("the token is missing", "the token is missing"),
    ],
)
def test_texts_keep_all_but_the_values_of_credentials(text: str, shown: str) -> None:
    assert mask_text(text) == shown


def test_objects_keep_all_but_the_values_of_credentials() -> None:
    pod: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {"annotations": {LAST_APPLIED: "{}", "team": "x"}},
        "spec": {
            "automountServiceAccountToken": True,
            "volumes": [{"name": "token", "secret": {"secretName": "mine"}}],
            "containers": [
                {
                    "name": "node",
                    "command": ["run", "--token", "abc", "--lr", "1", "--password", "--x", "--secret", "$(A)"],
                    "env": [
                        {"name": "HF_TOKEN", "value": "abc"},
                        {"name": "OTHER_TOKEN", "value": "$(HF_TOKEN)"},
                        {"name": "URL", "value": "http://a:b@c"},
                        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
                        {"name": "EMPTY_TOKEN", "value": ""},
                    ],
                }
            ],
        },
    }
    shown = masked(pod)
    assert shown["metadata"]["annotations"] == {LAST_APPLIED: MASK, "team": "x"}
    assert shown["spec"]["volumes"] == pod["spec"]["volumes"]
    [container] = shown["spec"]["containers"]
    assert container["command"] == ["run", "--token", MASK, "--lr", "1", "--password", "--x", "--secret", "$(A)"]
    assert container["env"] == [
        {"name": "HF_TOKEN", "value": MASK},
        {"name": "OTHER_TOKEN", "value": "$(HF_TOKEN)"},
        {"name": "URL", "value": f"http://a:{MASK}@c"},
        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
        {"name": "EMPTY_TOKEN", "value": ""},
    ]


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_secrets_show_their_keys_only(field: str) -> None:
    secret = {"kind": "Secret", "metadata": {"name": "a"}, field: {"x": "aGk=", "y": "eW8="}, "type": "Opaque"}
    assert masked(secret) == {**secret, field: {"x": MASK, "y": MASK}}


def test_a_config_map_keeps_what_is_no_credential() -> None:
    config = {"kind": "ConfigMap", "data": {"password": "x", "a.ini": "token=abc\nlr=1"}}
    assert masked(config) == {"kind": "ConfigMap", "data": {"password": MASK, "a.ini": f"token={MASK}\nlr=1"}}


def test_objects_inside_a_config_map_are_masked_as_objects() -> None:
    inner = dump([{"args": ["--token", "abc"], "env": [{"name": "PASSWORD", "value": "abc"}]}])
    shown = masked(
        {"kind": "ConfigMap", "data": {"runtime.yaml": inner, "plain": "a: 1\nb:   2\n", "list": "- a\n- b\n"}}
    )
    assert shown["data"]["runtime.yaml"] == inner.replace("abc", f"'{MASK}'")
    assert shown["data"]["plain"] == "a: 1\nb:   2\n", "what has nothing to hide stays as it is written"
    assert shown["data"]["list"] == "- a\n- b\n"


@pytest.mark.parametrize("content", [None, {}, [], 3, {"a": 1}])
def test_a_config_map_may_be_anything(content: object) -> None:
    assert masked({"kind": "ConfigMap", "data": content}) == {"kind": "ConfigMap", "data": content}


# Put together here, so that no search for tokens in this repository finds one.
FORMS = [
    "hf_" + "AbCdEfGhIj" * 3,
    "ghp_" + "0123456789" * 4,
    "github_pat_" + "0123456789" * 3,
    "glpat-" + "abcdefghij" * 2,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "a" * 35,
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3",
    "sk-proj-" + "abcdefghij" * 3,
    "sk_live_" + "0123456789abcdef",
    "xoxb-" + "123456789012-abcdefgh",
    "npm_" + "0123456789" * 4,
    "pypi-" + "AgEIcHlwaS5vcmc" * 4,
    "SG." + "a" * 22 + "." + "b" * 43,
    "-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("token", FORMS, ids=[each[:8] for each in FORMS])
def test_tokens_are_known_by_their_looks(token: str) -> None:
    assert mask_text(f"python train.py {token} 3") == f"python train.py {MASK} 3"
    assert masked({"args": [token], "data": {"notes": f"is {token}"}}) == {
        "args": [MASK],
        "data": {"notes": f"is {MASK}"},
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.slack.com/services/T00/B00/abcdefgh", f"https://hooks.slack.com/{MASK}"),
        ("https://discord.com/api/webhooks/123456/abc_def-ghi", f"https://discord.com/api/webhooks/{MASK}"),
        ("https://acme.webhook.office.com/webhookb2/a-b/c/d", f"https://acme.webhook.office.com/{MASK}"),
        (
            "https://open.feishu.cn/open-apis/bot/v2/hook/abcd-efgh",
            f"https://open.feishu.cn/open-apis/bot/v2/hook/{MASK}",
        ),
        ("https://api.telegram.org/bot1234567:abcdefg/send", f"https://api.telegram.org/bot{MASK}"),
        ("https://example.com/docs/training.html", "https://example.com/docs/training.html"),
    ],
)
def test_web_hooks_are_shown_without_what_makes_them_secret(url: str, shown: str) -> None:
    assert mask_text(f"curl {url} -d x") == f"curl {shown} -d x"


def test_logins_of_registries_are_masked_as_text_and_as_fields() -> None:
    login = {"auths": {"registry.example.com": {"auth": "dXNlcjpwYXNzd29yZA=="}}}
    hidden = {"auths": {"registry.example.com": {"auth": MASK}}}
    assert masked(login) == hidden
    assert mask_text(json.dumps(login)) == json.dumps(hidden)
    assert "dXNl" not in mask_text(json.dumps({"inside": json.dumps(login)}))
    assert mask_text("//registry.example.com/:_auth=dXNlcjpwYXNzd29yZA==").endswith(f"_auth={MASK}")


def test_nothing_of_our_examples_looks_like_a_token() -> None:
    for path in (ROOT / "examples").rglob("*.yaml"):
        text = path.read_text()
        assert mask_text(text) == text


@pytest.mark.parametrize(
    "piece", ["http://a/", "http://hook", "eyJaaaaaaaa.", '"auth": "', "-----BEGIN PRIVATE KEY-----"]
)
def test_no_text_keeps_the_masking_busy(piece: str) -> None:
    with at_most(2.0):
        mask_text(piece * (300_000 // len(piece)))

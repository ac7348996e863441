"""What a program learns of its peers from its environment: facts by role, whatever the variables are called."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from training_migration.convert.host_names import from_host_name
from training_migration.diff.pairing import Place
from training_migration.diff.prologue import Started, started
from training_migration.diff.side import OWN_ADDRESS, RenderedSide

_ITSELF: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


class Role(StrEnum):
    """What a variable is for."""

    HOST = "coordinator host"
    PORT = "coordinator port"
    RANK = "rank"
    SIZE = "world size"
    LOCAL = "local size"
    CLUSTER = "cluster spec"
    PEERS = "peers"
    ELASTIC = "elasticity"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a program learns."""

    shown: str
    """As it stands in the environment."""
    meaning: Hashable
    """Equal on both sides where it leads to the same: hosts are pods, ports of one side are all alike."""
    names: tuple[str, ...] = ()
    """Variables and flags that carry it."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """All that a program learns."""

    facts: Mapping[Role, Fact] = field(default_factory=dict)
    alone: bool = False
    """Whether it has no way to find another pod."""

    @property
    def names(self) -> Iterator[str]:
        """Variables that some fact is taken from."""
        for fact in self.facts.values():
            yield from fact.names


@dataclass(frozen=True, slots=True)
class View:
    """A pod as the program in it sees the world."""

    side: RenderedSide
    place: Place
    numbers: Mapping[Place, int]
    """What each pod of the side is called on both sides."""
    start: Started

    @property
    def environment(self) -> Mapping[str, str]:
        """Once the shell in front of the program is done."""
        return self.start.environment

    @property
    def words(self) -> Sequence[str]:
        """The program and its arguments."""
        return self.start.words

    def who(self, host: str) -> Hashable:
        """Which pod this name or address leads to; something that no other name is equal to where it leads nowhere."""
        if host in _ITSELF or host == OWN_ADDRESS:
            return self.numbers.get(self.place)
        place = self.side.place_of(host)
        return ("no pod", host) if place is None else self.numbers.get(place)


def view(side: RenderedSide, place: Place, numbers: Mapping[Place, int]) -> View:
    """Of the program in a pod."""
    host = side.pods[place].hostname.partition(".")[0]
    command, args = ([from_host_name(word, host) for word in words] for words in side.words(place))
    return View(side, place, numbers, started(command, args, side.environment(place)))


@dataclass(frozen=True, slots=True)
class Reader:
    """A program, or a library in it, that learns of its peers."""

    name: str
    """Who reads, for sentences."""
    read: Callable[[View], Wiring]
    carriers: frozenset[str]
    """Names of variables by which it may learn of its peers."""
    settings: frozenset[str] = frozenset()
    """Names of further variables that it reads, whose values have to be equal."""
    native: bool = False
    """Whether v2 sets them by itself."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Variables in which each role has one name of its own."""

    reader: str
    host: str = ""
    port: str = ""
    endpoint: str = ""
    """Host and port in one."""
    rank: str = ""
    size: str = ""
    peers: str = ""
    """Host names with commas between them; not all readers need them."""
    settings: tuple[str, ...] = ()
    """Others that are read."""
    one_process: bool = False
    """Whether ranks are those of processes, of which each pod has one."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Without any one of them no other pod is found."""
        return tuple(name for name in (self.host, self.port, self.endpoint, self.rank, self.size) if name)

    def as_reader(self) -> Reader:
        """The reader of these variables."""
        named = frozenset(name for name in (*self.needed, self.peers) if name)
        return Reader(self.reader, self.read, named, frozenset(self.settings))

    def read(self, view: View) -> Wiring:
        """What the variables say; those that are not there or empty say nothing."""
        known = {name: value for name, value in view.environment.items() if value}
        facts: dict[Role, Fact] = {Role.LOCAL: Fact("1", 1)} if self.one_process else {}
        if self.endpoint in known:
            facts |= endpoint(view, known[self.endpoint], self.endpoint)
        if self.host in known:
            facts[Role.HOST] = Fact(known[self.host], view.who(known[self.host]), (self.host,))
        if self.port in known:
            facts[Role.PORT] = Fact(known[self.port], "given", (self.port,))
        for role, name in ((Role.RANK, self.rank), (Role.SIZE, self.size)):
            if name in known:
                facts[role] = Fact(known[name], known[name], (name,))
        if self.peers in known:
            hosts = tuple(view.who(host.strip()) for host in known[self.peers].split(","))
            facts[Role.PEERS] = Fact(known[self.peers], hosts, (self.peers,))
        return Wiring(facts, alone=any(name not in known for name in self.needed))


def endpoint(view: View, text: str, *names: str) -> dict[Role, Fact]:
    """Host and port of `host:port`."""
    host, _, port = text.rpartition(":") if ":" in text else (text, "", "")
    facts = {Role.HOST: Fact(host, view.who(host), names)}
    if port:
        facts[Role.PORT] = Fact(port, "given", names)
    return facts

"""Decisions from made-up runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthetic_world import World
from wirebench.catalog import find_root, load_catalog
from wirebench.catalog.study_files import load_studies
from wirebench.decide.judge import decide
from wirebench.decide.known import Known, read_known
from wirebench.decide.places import is_wanted, looked_up
from wirebench.decide.question import Candidate, Decision, Question

WORLD = World(studies=("concurrency",), samples=60)
HTTP = Question(serves="http.hello")
STUDIES = load_studies(find_root() / "studies").values()


def known_of(results: Path, question: Question, **more: Any) -> Known:
    looked = looked_up(question, STUDIES)
    return read_known(results, wanted=lambda role, cell: is_wanted(looked, role, cell), **more)


def answer(results: Path, question: Question, **more: Any) -> Decision:
    return decide(question, known_of(results, question, **more), load_catalog(find_root()), STUDIES)


def states(decision: Decision, contestant: str) -> Mapping[str, str]:
    everybody = (*decision.shortlist, *decision.excluded, *decision.unknown)
    (found,) = (one for one in everybody if one.contestant == contestant)
    return {finding.limit: finding.state for finding in found.findings}


def of(found: tuple[Candidate, ...], contestant: str) -> Candidate:
    (one,) = (one for one in found if one.contestant == contestant)
    return one

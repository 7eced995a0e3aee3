"""The probes of conditional requests and ranges, put to servers that are right and wrong."""

from __future__ import annotations

import pytest

from probed_servers import BAD, GOOD, outcome

NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n\r\n"
FAILED = b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n"
DATED = GOOD.replace(b"Date", b"Last-Modified: Sat, 31 Jan 2026 11:00:00 GMT\r\nDate")


def test_conditions_are_those_of_the_etag() -> None:
    tagged = GOOD.replace(b"Date", b'ETag: "t"\r\nDate')
    same = b'HTTP/1.1 304 Not Modified\r\nETag: "t"\r\n\r\n'

    def reply(data: bytes) -> bytes:
        return same if b'If-None-Match: "t"' in data else tagged

    assert outcome("none_match_of_its_tag", lambda _: GOOD).outcome == "not_applicable"
    assert outcome("none_match_of_its_tag", reply).outcome == "passed"
    assert outcome("none_match_of_its_tag", lambda _: tagged).outcome == "failed"
    assert outcome("match_of_another_tag", lambda _: tagged).outcome == "failed"
    assert outcome("if_range_alone", lambda _: same).outcome == "failed"


def _dated(data: bytes) -> bytes:
    if b"-Unmodified-Since: Thu, 01 Jan 1970" in data:
        return FAILED
    later = b"-Modified-Since: Sat, 31 Jan 2026" in data or b"-Modified-Since: Thu, 31" in data
    return NOT_MODIFIED if later else DATED


@pytest.mark.parametrize(
    ("id_", "wrong"),
    [
        ("modified_since_its_date", DATED),
        ("modified_since_future", DATED),
        ("modified_since_long_ago", NOT_MODIFIED),
        ("unmodified_since_its_date", FAILED),
        ("unmodified_since_long_ago", DATED),
    ],
)
def test_conditions_are_those_of_the_date(id_: str, wrong: bytes) -> None:
    def mistaken(data: bytes) -> bytes:
        return wrong if b"odified-Since" in data else DATED

    assert outcome(id_, lambda _: GOOD).outcome == "not_applicable"
    assert outcome(id_, _dated).outcome == "passed"
    assert outcome(id_, mistaken).outcome == "failed"


def test_a_date_in_the_future_is_a_condition_that_holds() -> None:
    assert outcome("if_unmodified_since_future", lambda _: DATED).outcome == "passed"
    assert outcome("if_unmodified_since_future", lambda _: FAILED).outcome == "failed"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (GOOD, "passed"),
        (BAD, "passed"),
        (GOOD.replace(b"200 OK", b"206 Partial Content"), "failed"),
    ],
)
def test_a_second_range_makes_none(reply: bytes, expected: str) -> None:
    assert outcome("range_twice", lambda _: reply).outcome == expected

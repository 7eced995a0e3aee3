"""Whether a licence is permissive, or allows what is asked for: SPDX expressions, with the
categories of ScanCode's licence list, which the package license-expression carries.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from importlib import resources
from typing import Any, Literal

from license_expression import ExpressionError, get_spdx_licensing

PERMISSIVE = "permissive"
_KINDS = {"Permissive": PERMISSIVE, "Public Domain": PERMISSIVE}
Copyleft = Literal["none", "weak", "strong"]
_COPYLEFT: dict[str, Copyleft] = {"Copyleft": "strong", "Copyleft Limited": "weak"}


class LicenceError(ValueError):
    """Not an SPDX expression. The message says which part."""


def parse(text: str) -> Any:
    """The expression's tree. Errors: ``LicenceError``."""
    try:
        tree = _licensing().parse(text, validate=True, strict=True)
    except ExpressionError as error:
        raise LicenceError(f"expected an SPDX expression, got {text!r}: {error}") from error
    if tree is None:  # of an empty text
        raise LicenceError(f"expected an SPDX expression, got {text!r}")
    return tree


def is_permissive(text: str) -> bool | None:
    """Whether one may choose only permissive licences. None if a part of it is in no list, such as
    an own licence.
    """
    try:
        tree = _licensing().parse(text, validate=False)
    except ExpressionError:
        return None
    return _holds(tree, _is_permissive)


def allows(text: str, wanted: str) -> bool | None:
    """Whether one may choose only licences that ``wanted`` names. None if it cannot be read."""
    names = {str(one) for one in parse(wanted).objects}
    try:
        tree = _licensing().parse(text, validate=False)
    except ExpressionError:
        return None
    return _holds(tree, lambda key: key in names)


def copyleft(text: str) -> Copyleft | None:
    """How far it asks for the source of what is linked with it, with the best choice of an ``OR``:
    *weak* as LGPL and MPL do. None if a part of it is in no list.
    """
    try:
        tree = _licensing().parse(text, validate=False)
    except ExpressionError:
        return None
    strong = _holds(tree, lambda key: _is_free_of(key, ("strong",)))
    either = _holds(tree, lambda key: _is_free_of(key, ("strong", "weak")))
    if strong is False:
        return "strong"
    if either is False:
        return "weak"
    return "none" if either else None


def _is_free_of(key: str, kinds: tuple[Copyleft, ...]) -> bool | None:
    licence, _, exception = key.partition(" WITH ")
    category = _categories().get(licence)
    if category is None:
        return None
    found = _COPYLEFT.get(category, "none")
    # An exception allows to link with it.
    return ("weak" if exception and found == "strong" else found) not in kinds


def _holds(tree: Any, allowed: Callable[[str], bool | None]) -> bool | None:
    if tree is None:  # of an empty text
        return None
    operator = type(tree).__name__
    if operator not in ("AND", "OR"):
        return allowed(str(tree.render()))
    found = [_holds(part, allowed) for part in tree.args]
    # Kleene's three values.
    decides = operator == "OR"
    if decides in found:
        return decides
    return None if None in found else not decides


def _is_permissive(key: str) -> bool | None:
    # "Apache-2.0 WITH LLVM-exception": exceptions only add permissions.
    kind = _categories().get(key.split(" WITH ")[0])
    return None if kind is None else _KINDS.get(kind) == PERMISSIVE


@functools.cache
def _licensing() -> Any:
    return get_spdx_licensing()


@functools.cache
def _categories() -> dict[str, str]:
    file = resources.files("license_expression") / "data" / "scancode-licensedb-index.json"
    known = {}
    for one in json.loads(file.read_text("utf-8")):
        for key in (one.get("spdx_license_key"), *one.get("other_spdx_license_keys", ())):
            if key and not key.startswith("LicenseRef-"):
                known[key] = one.get("category", "")
    return known

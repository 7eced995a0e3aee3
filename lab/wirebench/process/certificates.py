"""Throw-away TLS certificates. Their authority lives as long as the lab's process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wirebench.process.ports import HOST

# Imported where it is used: only TLS needs it.
if TYPE_CHECKING:
    import trustme

Authority = Literal["trusted", "stranger"]


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """PEM files: the authority that a client trusts, and the server's certificate and key."""

    ca_file: Path
    certificate_file: Path
    key_file: Path


@cache
def _authority(name: Authority) -> trustme.CA:
    import trustme

    return trustme.CA(organization_name=f"wirebench, {name}")


def issue(folder: Path, *, host: str = HOST, signed_by: Authority = "trusted") -> Certificates:
    """Write a certificate for ``host`` into the folder.

    ``ca_file`` is always the trusted authority, whoever signed the certificate.
    """
    found = Certificates(
        ca_file=folder / "ca.pem",
        certificate_file=folder / f"{signed_by}-{host}.pem",
        key_file=folder / f"{signed_by}-{host}-key.pem",
    )
    own = _authority(signed_by).issue_cert(host)
    _authority("trusted").cert_pem.write_to_path(found.ca_file)
    found.certificate_file.write_bytes(b"".join(part.bytes() for part in own.cert_chain_pems))
    own.private_key_pem.write_to_path(found.key_file)
    return found

"""The certificates of a fleet: one authority, one certificate for the scheduler and one a host.

Who holds one of them may run any code on every host of the fleet, since that is what Dask's workers
are for. Keys are readable by their owner only.
"""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wirebench.catalog.errors import CatalogError
from wirebench.fleet.hosts import SCHEDULER

# Imported where they are used: they take most of a second.
if TYPE_CHECKING:
    import trustme
    from distributed.security import Security

CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.pem", "certificate.pem", "key.pem"
AUTHORITY_KEY_FILE = "authority-key.pem"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The folder that one host needs: the authority, its own certificate and key."""

    folder: Path

    def security(self) -> Security:
        """TLS and nothing else, in both directions. ``CatalogError`` if a file is missing, or no
        certificate that is valid now.
        """
        from distributed.security import Security

        files = [str(self.folder / name) for name in (CA_FILE, CERTIFICATE_FILE, KEY_FILE)]
        for file in files:
            if not os.access(file, os.R_OK):
                raise CatalogError(
                    f"{file}: expected a certificate of the fleet, got none to read; 'wirebench"
                    " fleet init' makes them, and each host gets its own folder"
                )
        ca, certificate, key = files
        for file in (ca, certificate):
            _check_dates(Path(file))
        return Security(
            require_encryption=True,
            tls_ca_file=ca,
            tls_client_cert=certificate,
            tls_client_key=key,
            tls_scheduler_cert=certificate,
            tls_scheduler_key=key,
            tls_worker_cert=certificate,
            tls_worker_key=key,
        )

    def check_name(self, host: str) -> None:
        """``CatalogError`` if the certificate is another host's, which the other host of a pair
        would send away without a word.
        """
        from cryptography import x509

        file = self.folder / CERTIFICATE_FILE
        own = x509.load_pem_x509_certificate(file.read_bytes())
        names = own.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        if host not in [one.value for one in names]:
            whose = ", ".join(str(one.value) for one in names) or "nobody"
            raise CatalogError(
                f"{file}: expected the certificate of host {host}, got that of {whose}; each host"
                " gets the folder of its own name"
            )

    def context(self, *, server_side: bool) -> ssl.SSLContext:
        """For a connection between two hosts, of which each shows its certificate. Whose it is says
        ``peer_name()``. ``CatalogError`` if a file is missing.
        """
        context = ssl.SSLContext(
            ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT
        )
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # hosts are reached by addresses, and named by the fleet
        context.verify_mode = ssl.CERT_REQUIRED
        if server_side:
            context.num_tickets = 0  # no message that nobody waits for
        try:
            context.load_verify_locations(self.folder / CA_FILE)
            context.load_cert_chain(self.folder / CERTIFICATE_FILE, self.folder / KEY_FILE)
        except OSError as error:  # and what ssl raises, which is one
            raise CatalogError(
                f"{self.folder}: expected the certificates of a host, got {error}"
            ) from error
        return context

    def fleet_id(self) -> str:
        """Identical for all hosts of a fleet: twelve hexadecimal digits of its authority."""
        return hashlib.sha256((self.folder / CA_FILE).read_bytes()).hexdigest()[:12]


def _check_dates(file: Path) -> None:
    """``CatalogError`` where the other side would refuse it, which is not told why."""
    from cryptography import x509

    try:
        own = x509.load_pem_x509_certificate(file.read_bytes())
    except ValueError as error:
        raise CatalogError(f"{file}: expected a certificate (PEM), got {error}") from error
    now = datetime.now(UTC)
    if not own.not_valid_before_utc <= now <= own.not_valid_after_utc:
        raise CatalogError(
            f"{file}: expected a certificate that is valid on {now:%Y-%m-%d}, got one from"
            f" {own.not_valid_before_utc:%Y-%m-%d} to {own.not_valid_after_utc:%Y-%m-%d}; where the"
            " clock of this host is right, 'wirebench fleet init' makes others in a new folder"
        )


def peer_name(connection: ssl.SSLSocket) -> str | None:
    """The host whose certificate the other side has shown, by the name in the fleet."""
    certificate: Mapping[str, Any] = connection.getpeercert() or {}
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                return str(value)
    return None


def make_certificates(folder: Path, names: Iterable[str]) -> list[str]:
    """Make what is missing of ``folder/NAME`` for the scheduler and each host. Returns the names
    that are new. The authority is made once, so that hosts can join later.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority(folder)
    new = []
    for name in (SCHEDULER, *names):
        own = folder / name
        if (own / KEY_FILE).exists():
            continue
        own.mkdir(exist_ok=True, mode=0o700)
        # A host's name need be none of the DNS (rack_1), and nobody looks for it there.
        issued = authority.issue_cert("wirebench", common_name=name)
        _write(own / CA_FILE, authority.cert_pem.bytes())
        _write(own / CERTIFICATE_FILE, b"".join(one.bytes() for one in issued.cert_chain_pems))
        _write(own / KEY_FILE, issued.private_key_pem.bytes())
        new.append(name)
    return new


def _authority(folder: Path) -> trustme.CA:
    import trustme

    certificate, key = folder / CA_FILE, folder / AUTHORITY_KEY_FILE
    if key.exists():
        return trustme.CA.from_pem(certificate.read_bytes(), key.read_bytes())
    made = trustme.CA(organization_name="wirebench fleet")
    _write(certificate, made.cert_pem.bytes())
    _write(key, made.private_key_pem.bytes())
    return made


def _write(path: Path, content: bytes) -> None:
    """A file that no other user can read, at any moment."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    scratch.replace(path)

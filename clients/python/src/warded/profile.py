"""A profile: the folder that holds who this client is and which gates it trusts.

    server    `ENDPOINT`, or `ADDRESS as ENDPOINT`; a line each
    ca.pem    the CA that signed the gates
    cert.pem  this client's certificate      key.pem  its key (secret)
    token     the token (secret)             policy   which gates to trust (optional)

Nothing is frozen: each file counts as it is when it is needed.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import time
from dataclasses import dataclass, replace
from pathlib import Path

from warded._endpoint import Server, parse_servers
from warded._files import (
    HOW_TO_MAKE,
    Stamp,
    read_file,
    refuse_file,
    stamp,
    stat_secret,
)
from warded._policy import Policy, parse_policy
from warded._spiffe import Spiffe
from warded._token import TokenSource
from warded.errors import RpcError, profile_error
from warded.identity import IdentityError, read_client

_CREDENTIAL_FILES = ("server", "ca.pem", "cert.pem", "key.pem", "policy")
_MAX_FILE_BYTES = 1 << 20


@dataclass(frozen=True)
class Credentials:
    """What a new connection needs, read in one go."""

    context: ssl.SSLContext
    mine: Spiffe
    policy: Policy
    servers: tuple[Server, ...]
    trust: str
    """Which CA: the first digits of a digest of ca.pem."""


class Profile:
    """One profile folder, watched.

    Threads: any; each cache is replaced in one assignment.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises ProfileError: the folder is not there."""
        self.path = Path(path)
        if not self.path.is_dir():
            raise profile_error(
                f"{self.path}: no such folder; {HOW_TO_MAKE}, then set "
                "WARDED_PROFILE to it or name it in warded.connect()"
            )
        self._tokens = TokenSource(str(self.path / "token"))
        self._last: tuple[tuple[Stamp, ...], Credentials] | None = None

    def token(self) -> str:
        """The token to send now.

        A file that is empty or half written keeps the last good one.
        Raises ProfileError (readable by others), Unauthenticated (none yet).
        """
        return self._tokens.token()

    def credentials(self) -> Credentials:
        """Certificate, key, CA, servers and policy as they are now.

        A certificate and a key that do not fit, as while they are being replaced, keep
        the last good pair. Raises ProfileError, naming file and cure.
        """
        stamps = self._stamps()
        last = self._last
        if last is not None and last[0] == stamps:
            return last[1]
        servers, policy = self._read_servers(), self._read_policy()
        try:
            context, mine = self._load_pair()
        except RpcError:
            if last is None or not self._is_changing():
                raise
            last_good = last[1]
            return replace(last_good, policy=policy, servers=servers)
        trust = hashlib.sha256(self._read("ca.pem")).hexdigest()[:8]
        credentials = Credentials(context, mine, policy, servers, trust)
        self._last = (stamps, credentials)
        return credentials

    def changed(self) -> bool:
        """Whether a file that connections depend on is not what `credentials` read."""
        return self._last is not None and self._last[0] != self._stamps()

    def _stamps(self) -> tuple[Stamp, ...]:
        return tuple(stamp(str(self.path / name)) for name in _CREDENTIAL_FILES)

    def _is_changing(self) -> bool:
        """Certificate or key was written so lately that its twin may be on its way."""
        seen = [stamp(str(self.path / name)) for name in ("cert.pem", "key.pem")]
        newest = max((s[0] for s in seen if s is not None), default=0)
        return time.time_ns() - newest < 60 * 1_000_000_000

    def _read(self, name: str) -> bytes:
        path = self.path / name
        try:
            data = read_file(str(path), _MAX_FILE_BYTES + 1)
        except OSError as error:
            refuse_file(str(path), error)
        if len(data) > _MAX_FILE_BYTES:
            raise profile_error(
                f"{path}: not a text of at most {_MAX_FILE_BYTES} bytes; put the right "
                "file there"
            )
        return data

    def _text(self, name: str) -> str:
        try:
            return self._read(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise profile_error(f"{self.path / name}: not UTF-8 text") from error

    def _read_servers(self) -> tuple[Server, ...]:
        try:
            return parse_servers(self._text("server"))
        except ValueError as error:
            raise profile_error(f"{self.path / 'server'}: {error}") from error

    def _read_policy(self) -> Policy:
        if stamp(str(self.path / "policy")) is None:
            return Policy()
        try:
            return parse_policy(self._text("policy"))
        except ValueError as error:
            raise profile_error(f"{self.path / 'policy'}: {error}") from error

    def _load_pair(self) -> tuple[ssl.SSLContext, Spiffe]:
        mine = self._read_own_identity()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # identity.judge checks URI and endpoint instead
        context.verify_mode = ssl.CERT_REQUIRED
        self._load_ca(context)
        self._load_key(context)
        return context, mine

    def _read_own_identity(self) -> Spiffe:
        path = self.path / "cert.pem"
        first, found, _ = self._text("cert.pem").partition("-----END CERTIFICATE-----")
        start = first.find("-----BEGIN CERTIFICATE-----")
        try:
            if start < 0:
                raise ValueError("no certificate in it")
            return read_client(ssl.PEM_cert_to_DER_cert(first[start:] + found))
        except (IdentityError, ValueError) as error:
            raise profile_error(f"{path}: {error}; {HOW_TO_MAKE}") from error

    def _load_ca(self, context: ssl.SSLContext) -> None:
        path = self.path / "ca.pem"
        try:
            context.load_verify_locations(cadata=self._text("ca.pem"))
        except (ssl.SSLError, ValueError) as error:
            raise profile_error(
                f"{path}: no usable CA certificate in it; copy the gate's ca.pem"
            ) from error
        held = context.cert_store_stats()
        if held["x509_ca"] != held["x509"]:
            raise profile_error(
                f"{path}: a certificate of it is no CA's; copy the gate's ca.pem"
            )

    def _load_key(self, context: ssl.SSLContext) -> None:
        cert, key = self.path / "cert.pem", self.path / "key.pem"
        stat_secret(str(key))
        try:
            context.load_cert_chain(cert, key, password=_refuse_password)
        except ssl.SSLError as error:
            raise profile_error(
                f"{cert} and {key}: {error.reason or 'not a PEM pair'}; they must be "
                f"one pair, in PEM, the key not encrypted; {HOW_TO_MAKE}"
            ) from error
        except OSError as error:
            refuse_file(str(key), error)


def default_path() -> Path:
    """$WARDED_PROFILE, else ~/.config/warded/default.

    Raises ProfileError: there is neither.
    """
    named = os.environ.get("WARDED_PROFILE")
    if named:
        return Path(named)
    try:
        return Path.home() / ".config/warded/default"
    except RuntimeError as error:
        raise profile_error(
            "no profile is named, and this process has no home where "
            ".config/warded/default would be: set WARDED_PROFILE to the profile's "
            "folder, or connect(folder)"
        ) from error


def _refuse_password() -> str:
    raise profile_error("key.pem is encrypted; store it without a password")

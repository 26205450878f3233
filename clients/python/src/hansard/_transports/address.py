"""The address of a deployment."""

from __future__ import annotations

import dataclasses
from urllib.parse import urlsplit

SCHEMES = ("grpc", "grpcs", "http", "https")


@dataclasses.dataclass(frozen=True)
class Address:
    """Where calls go, and the token that they carry."""

    #: `grpc://host:port`, `grpcs://host:port`, `http://host:port` or `https://host`.
    url: str
    token: str = dataclasses.field(repr=False)
    #: The writer, if calls that write go to it directly.
    writer_url: str | None = None
    #: The certificates of trusted issuers, PEM. `None`: those of the system.
    root_certificates: bytes | None = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        for url in filter(None, (self.url, self.writer_url)):
            scheme = urlsplit(url).scheme
            if scheme not in SCHEMES or not urlsplit(url).netloc:
                raise ValueError(
                    f"{url!r} is not an address: use grpc://host:port, grpcs://host:port, http://host or https://host"
                )
        if self.is_http and self.writer_url:
            raise ValueError("writer_url is for grpc:// addresses: leave it out, the gateway forwards writes over HTTP")
        if not self.token:
            raise ValueError("the token is empty: create one with `hansard token create`")

    @property
    def is_http(self) -> bool:
        """Whether calls go over HTTP."""
        return urlsplit(self.url).scheme in ("http", "https")

    def url_of(self, *, is_write: bool) -> str:
        """The address that executes a call."""
        return self.writer_url or self.url if is_write else self.url


def grpc_url(url: str) -> str:
    """An address as the commands of `hansard` write it, with `http` for `grpc` and `https` for `grpcs`."""
    scheme, separator, rest = url.partition("://")
    return {"http": "grpc", "https": "grpcs"}.get(scheme, scheme) + separator + rest

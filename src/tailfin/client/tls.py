"""TLS to name servers and brokers."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from tailfin.config.setting import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to speak TLS; `tls=True` is `Tls()`: the system's authorities, names checked.

    Args:
        ca: file with the authorities to trust instead of the system's.
        certificate: file with this client's own certificate, if servers ask for one.
        key: file with the certificate's key.
        verify: False: trust any server (RocketMQ's own default).
        check_hostname: False: trust a certificate for any name; brokers are found by IP address, for which
            certificates often are not made.

    Example:
        ```python
        tailfin.Producer("shop", nameserver="ns:9876", tls=tailfin.Tls(ca="ca.pem", check_hostname=False))
        ```
    """

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None
    verify: bool = True
    check_hostname: bool = True

    def trusted(self) -> str:
        """Return the file with the authorities to trust."""
        found = self.ca or ssl.get_default_verify_paths().cafile
        if not found:
            raise ConfigError(
                "tls: this system has no file of authorities to trust: name one with Tls(ca=...)"
            )
        return str(found)

    def context(self) -> ssl.SSLContext:
        """Return it as asyncio takes it."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            files = ", ".join(str(each) for each in (self.ca, self.certificate, self.key) if each)
            raise ConfigError(f"tls: {files}: {error}") from None
        if not (self.verify and self.check_hostname):
            context.check_hostname = False
        if not self.verify:
            context.verify_mode = ssl.CERT_NONE
        return context

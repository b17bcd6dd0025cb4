"""Signatures of requests, as RocketMQ's access control asks for them."""

import base64
import hashlib
import hmac

from tailfin.wire.frame import Frame


class Signer:
    """A client's hook that signs every request; it must be the last hook, for it signs what others add."""

    def __init__(self, access_key: str, secret_key: str, security_token: str | None = None) -> None:
        self._access_key = access_key
        self._secret = secret_key.encode()
        self._token = security_token

    def before(self, address: str, request: Frame) -> None:
        """Put key, token and signature into the request."""
        request.fields["AccessKey"] = self._access_key
        if self._token:
            request.fields["SecurityToken"] = self._token
        request.fields["Signature"] = signature(self._secret, request)

    def after(self, address: str, request: Frame, response: Frame) -> None:
        """Nothing: responses are not signed."""


def signature(secret: bytes, request: Frame) -> str:
    """Return the signature over the fields' values, by Java's order of their keys, and the body."""
    keys = sorted((key for key in request.fields if key != "Signature"), key=_utf16)
    content = "".join(request.fields[key] for key in keys).encode() + request.body
    return base64.b64encode(hmac.digest(secret, content, hashlib.sha1)).decode()


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")

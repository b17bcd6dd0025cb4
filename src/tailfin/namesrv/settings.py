"""The settings in force, and changes of them that arrive over the wire."""

import logging

from tailfin.config import properties
from tailfin.config.kept import KeptSettings
from tailfin.config.namesrv import NamesrvConfig, NamesrvSettings
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.namesrv")


class LiveSettings:
    """Settings that can change while the server runs; what reads them reads `now` each time."""

    def __init__(self, settings: NamesrvSettings) -> None:
        self._settings = settings
        self._kept = KeptSettings(settings.name_of)

    @property
    def now(self) -> NamesrvConfig:
        """Return the name server's settings in force."""
        return self._settings.namesrv

    def text(self) -> str:
        """Return every setting as properties text."""
        return properties.text(self._settings.all())

    async def change(self, text: str) -> None:
        """Take properties text: check it, write it to the file, then let it be in force."""
        try:
            values = self._settings.named(properties.parse(text))
            self._settings.changed(values)
        except ValueError as error:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, str(error)) from None
        if fixed := sorted(values.keys() & self._settings.fixed_keys()):
            remark = f"Can not update config in black list: {', '.join(fixed)}"
            raise RemotingError(ResponseCode.NO_PERMISSION, remark)
        await self._kept.keep(self.now.stored_at(), values)
        # Others may have changed something meanwhile: these values are added to theirs.
        self._settings = self._settings.changed(values)
        log.info("settings changed: %s", ", ".join(f"{key}={value}" for key, value in values.items()))

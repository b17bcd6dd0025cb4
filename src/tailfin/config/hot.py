"""The keys that the engine's hot path acts on. They are declared where the broker's other settings are."""

KEYS = (
    "brokerClusterName",
    "brokerIP1",
    "brokerId",
    "regionId",
    "traceOn",
    "brokerPermission",
    "startAcceptSendRequestTimeStamp",
    "litePullMessageEnable",
    "longPollingEnable",
    "shortPollingTimeMills",
    "slaveReadEnable",
    "enablePropertyFilter",
    "filterSupportRetry",
    "rejectTransactionMessage",
)


def hot_options(settings: object) -> dict[str, int | bool | str]:
    """Pick what the hot path asks for out of a broker's settings."""
    return {key: getattr(settings, key) for key in KEYS}

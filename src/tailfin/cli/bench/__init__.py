"""`tailfin bench`: load for a broker, of Tailfin or of RocketMQ."""

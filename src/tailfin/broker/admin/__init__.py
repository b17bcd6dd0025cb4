"""Handlers of what operators and their tools ask a broker, by subject."""

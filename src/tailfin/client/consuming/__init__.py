"""Consumers: what they read, where they begin, who gets which queue, and what becomes of each message.

`push` hands messages to a handler, `lite_pull` to whoever asks, `pull` only asks one queue once. Decisions
are pure functions and have no sockets: `starting` (where to begin), `judging` (what follows a pull and a
failed message), `cached` (what of a queue is held, and what may be committed).
"""

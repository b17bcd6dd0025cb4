"""Blocking faces of the asyncio classes: same names, no `await`."""

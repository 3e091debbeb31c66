"""What goes between pi and a provider: read as it passes, held against what was compiled.

``body``      what a request says, and how it goes on from the one before it (pure)
``ledger``    what a session was to send and what it did send (pure)
``call``      one model call on its way through the host
``record``    the call as it is written down: hashes, sizes, verdict, cost
``usage``     a provider's figures, read from a passing stream
``upstream``  where the traffic leads (pure)

The door itself, with the key and the socket, is ``sessions.model_gateway``.
"""

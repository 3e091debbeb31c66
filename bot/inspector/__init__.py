"""The owner's page: runs and turns in a browser on this machine, served by the bot itself.

``server``   the page over a home, from its port to its end   ``pages``  what is asked and shown
``doors``    one-time links, sessions, form tokens (pure)     ``guard``  who may ask at all
``asked``    an address's query -> filters (pure)             ``live``   word of runs that change
``views``    a run -> what the page draws of it (pure)        ``bars``   parts -> widths (pure)
``words``    numbers, times and texts as people read them (pure)
``paper``    how pages are written

Templates escape everything; nothing on the page is loaded from elsewhere, and nothing is inline.
The data are those of ``/runs``: ``bot.runs.book`` and ``sessions.review.inspection``.
"""

"""How the bot fares, for machines that look after it: figures, and whether it is well.

``figures``  counts of turns, tokens and starts of pi, and what waits, in Prometheus' form
``health``   what has to work, tried, with reasons in plain words
``server``   ``/metrics``, ``/healthz`` and ``/readyz`` on one small port of their own

No figure has a person, a channel or a server as its label, and no answer holds anybody's words.
"""

"""Turns as OpenTelemetry spans, for whoever collects them; off unless the owner wants it.

``spans``     a recorded turn -> the spans of it: times, sizes, codes and hashes (pure)
``follower``  hears of runs that changed, and reads what ended since
``sink``      the SDK, which must be installed on its own, and its exporter

A span holds no content and no id of a person, a channel or a message. The tables and the trace stay
the one source: spans are told from them after a turn has ended, so nothing stands in its way.
"""

"""A bot's first side: requests over HTTP.

``frame``     every request: logged, checked, limited, carried out, answered
``messages``, ``channels`` and ``commands``  the handlers, by what they are about
"""

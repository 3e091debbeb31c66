"""Boxes around ``sessions.box``: which one, what it holds, and who watches it.

``settings``  what the owner may say   ``choice``  bubblewrap or Docker, by trial
``plan``      what a box holds, as a value and as command lines (pure)
``filter``    the system calls that the kernel refuses (pure)
``docker``    the second way, a container   ``trial``  whether a box works at all
``warm``      pi's code compiled ahead
``host``      the box of one host, from its trial to the host's end
``watch``     memory and disk of a whole box, looked at   ``held``  what of it has no name
``action``    approved calls of pi's own tools, each in a box of its own
"""

"""What the values of each section must be beyond their types: settings in, findings out. Pure.

``bounds``   the few sentences of which most rules are made
``engine``   the model and the way to it     ``context``  characters, and what fits beside what
``talk``     conversations and their files   ``work``     tasks, gates and the box
``grants``   rules that can count at all     ``web``      pages that may be read
``keeping``  memory, and how long things are kept
``doors``    addresses and ports

``config.coherence`` asks all of them, in the order of the sections.
"""

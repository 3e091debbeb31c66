"""What the imp remembers: chosen for a turn, written with care, forgotten with proof.

``service``     the one door for the rest of the house
``core``        what all parts work with   ``index``  the notes in use, opened and indexed
``selection``   the notes of one turn      ``reader``  search and show
``writer``      what is refused, waits or replaces   ``drafts``  what it is made of (pure)
``corrections`` which of it is in doubt until its person confirms (pure)
``forgetting``  from the request to the proof   ``runs``  what runs still hold of it
``consents``    what people allow          ``rules``   who a note belongs to (pure)
``notes``       row, note and record (pure)   ``results``  every outcome, with its sentence
``semantic``    notes ranked by a local model

All of its SQL is in ``sessions.store``; the tools that ask it are in ``sessions.tools``.
"""

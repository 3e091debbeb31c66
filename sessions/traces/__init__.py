"""The lines of ``context.jsonl``: their form, their making, their reading, and the proof of all.

``events``   the form of each line       ``forms``   the values inside one
``writing``  what happened, as a line    ``plan``    plan and token account, there and back
``reader``   the events and the prompts  ``proof``   whether all of a trace is whole
``chain``    where the chain ends, quickly

Appending, durable before anything is delivered, is ``sessions.trace``.
"""

"""Gates at work in Discord: asked of those who decide, and what follows their word.

``service``        all of it, put together
``cards``          a gate as a message, from the question to what became of it
``buttons``        what stands under it, and which gate a press means
``continuations``  the turn after a gate's end
``rounds``         when both look for what is to be done   ``parts``  what both work with
``answers``        answers that wait until somebody has read them
``texts``          what people read of gates (pure)

What a gate is and how it moves is in ``sessions.gates``.
"""

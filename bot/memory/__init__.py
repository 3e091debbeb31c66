"""Notes, where people meet them: under an answer, in lists, and before a turn is asked.

``desk``           the sign and the buttons under an answer, and who may press them
``texts``          what people read about their notes (pure)
``preview_texts``  what would be used, and what is left out and why (pure)

How notes are kept, chosen and forgotten is in ``sessions.memory``.
"""

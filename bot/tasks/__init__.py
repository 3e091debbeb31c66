"""Tasks in Discord: filed there, told there.

``desk``   all that a running bot does about them, put together
``posts``  what becomes of them, as messages in their conversations
``texts``  what people read of one and of a list (pure)

How a task runs is in ``sessions.supervisor``.
"""

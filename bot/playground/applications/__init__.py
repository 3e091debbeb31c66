"""The bots of a playground, and what they are asked.

``bots``          who they are: token, commands, and the world as each meets it
``commands``      what they offer, registered and checked
``interactions``  what they are asked, and how they may answer   ``stages``  how far it has come
"""

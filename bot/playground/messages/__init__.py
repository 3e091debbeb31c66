"""What is said in a playground.

``drafts``     a message before it is sent, and what Discord refuses of it (pure)
``checks``     Discord's limits for embeds and components (pure)
``talk``       sends, edits and deletes messages   ``reactions``  what is put under them
"""

"""House rules of a conversation: who set what, what a text does to them, one way to change them.

``rules``    the values, with their origin (pure)
``reading``  what a text says to the grammar: nothing, a directive, or a doubt (pure)
``ruling``   what becomes of it (pure)
``keeper``   reading and changing them, in one transaction each

The grammar and its machine are ``compiler.directives``.
"""

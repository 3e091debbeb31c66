"""What there is in a playground, and how Discord writes it.

``state``        users, servers, roles, channels; each change is told as an event
``permissions``  what a member may do in a channel (pure)
``mentions``     whom a message names, and whom it notifies (pure)
``payloads``     Discord's JSON of each thing, outward   ``bodies``  of each request, inward
"""

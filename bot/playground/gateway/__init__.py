"""A bot's other side: events over a socket.

``sessions``    what a bot is told, and from where it may resume
``connection``  one socket: frames in, frames out
"""

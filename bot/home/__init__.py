"""The home, as a folder that is kept: one bot in it, copied, cleaned and brought forward.

``lock``          one bot a home
``housekeeping``  once an hour: what is kept no longer goes
``backup``        a copy of the home, and a home of a copy
``upgrade``       a home brought forward to this release

What lies in a home is said by ``config.homedir``.
"""

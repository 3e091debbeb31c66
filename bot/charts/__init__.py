"""Pictures of figures for Discord: the same figures as the text beside them, seen at once.

``Chart``        a PNG with its name and its description for those who do not see it (``canvas``)
``Canvas``       one dark sheet as wide as a phone shows sharply, filled from the top (``canvas``)
``colours``      the inspector's dark ones
``run_chart``    the blocks of a turn and its budget
``usage_chart``  tokens, money and cache share by day, imp and conversation
``cache_chart``  hit share over turns
``attached``     drawn beside the loop, and left out where drawing fails

Content is in none of them: names of blocks, imps and channels, sizes and codes.
"""

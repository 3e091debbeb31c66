"""``init``: from nothing to a bot that answers, by a few questions.

``wizard``      the steps, in their order; each keeps its answer before the next begins
``discord_steps``, ``model_steps``, ``imp_steps``   these by topic   ``desk``  what they share
``discord``     token, intents, invitation, owner, channel: what Discord is asked for them
``model``       which model, and whether it answers
``given``       what the command line and the environment answered already
``keeper``      what stands in the home, and how an answer gets there
``asking``      questions in a terminal      ``rest``  questions to Discord
``characters``  three identities to begin with (pure)      ``invite``  the link (pure)

Nothing is remembered but the home itself: a wizard that was broken off starts again, sees what is
there, and asks for the rest.
"""

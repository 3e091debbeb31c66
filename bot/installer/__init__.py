"""How a checkout becomes an installation; standard library only.

A set-up is a short list of steps in a fixed order. Each step leaves a *stamp*, written last
and in one piece, that holds the hash of the lock file it carried out and the names of what it
installed. A start compares stamps with what is there: equal means nothing to do, and a step
that was broken off, or whose result was damaged later, is simply carried out again.

``layout``    where things are: the checkout, the environment, the locks
``stamps``    what a step left behind, and whether it still stands
``steps``     the steps: the environment, packages, checks, model, pi   ``runner``  pip and npm
``wheels``    finding damaged packages, so that pip installs them again
``pip_wheel`` pip itself, for Pythons that come without it
``faults``    a failed step's output -> one plain sentence
``progress``  the lines a person sees meanwhile
``locate``    where the installed parts are, for the running bot

No registry's address appears here: pip's and npm's own configuration decide.
"""

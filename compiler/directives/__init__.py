"""House rules: a grammar, not a model, changes a conversation's state.

``grammar``   text to directive, or a typed reason why it is none
``values``    the state: premise and policies
``state``     every transition between states
``decision``  what ``step`` answers: passthrough, update or clarify, with the fixed prompts
``engine``    the stateful surface: ``step``, export and import

Spec: DG 0.5. Where DG leaves room, the decisions D1 to D25 of the conformance table are quoted
beside the line that follows them.
"""

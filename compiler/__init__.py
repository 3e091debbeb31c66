"""Compile what an imp may see, and nothing else.

The package is pure: values in, values out, standard library only. Its terms:

``ContextRequest``   who asks, on which surface, in which trusted scope (``request``)
``SourceSnapshot``   every source of that scope, already read by the host (``request``)
``ContextBudgets``   the owner's character limits (``budget``)
``CompiledBlock``    one admitted block with its authority, cache class, size and hash (``blocks``)
``Allocation``       who gets which room, in order of retention (``budget``, ``fitting``)
``CachePlan``        the stable prefix: boundaries, prefix hashes, route key (``cache_plan``)
``CompiledContext``  the result: exact prompts and the account of them (``compile``)

By topic:

``validate`` ``assemble`` ``render``  a request with its sources -> blocks
``templates`` ``normalize``           the host's own words, and every change of a text
``history`` ``memory`` ``briefing``   the advisory blocks, in the room that is left
``retention`` ``tokens`` ``token_fit``  what stays when not everything can, in tokens too
``plan`` ``planning`` ``origin``      what is in, what is out, by which rule and authority
``conflict_codes`` ``embedded``       what cannot all hold, and what only reads like an order
``receipt`` ``startup``               accounts without a word of what was said
``records`` ``lifecycle``             what is remembered, and its life
``audience`` ``authority``            who may know it, and what it may do
``recall`` ``relevance`` ``meaning`` ``terms`` ``duplicates``  which of it is chosen
``secrets`` ``summaries`` ``chunks``  what no note holds, what stands for a talk, a text in parts
``hashing`` ``canonical_json`` ``plain_json``  bytes for hashes
``directives`` ``errors``             house rules by a grammar; failures that are safe to show

Spec: CC and WS; where they differ, both are taken (WS adds Connections and History).
"""

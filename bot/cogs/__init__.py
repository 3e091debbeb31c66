"""Events and slash commands, one topic a file; each is a few lines over the modules beside it.

Events:

``conversation``  what people say   ``changes``  what they edit and delete
``gone_places``   channels, threads and servers that end
``warm_up``       what they are about to say   ``connection``  what was missed, after each start
``pairing``       strangers in direct messages

Commands, each by its name: ``cache channel context doctor imp inspect memory runs sessions state
stop tasks usage gates``. ``runs`` has "Why this answer?" too, ``memory_menus`` what stands in
the menu of a message.
"""

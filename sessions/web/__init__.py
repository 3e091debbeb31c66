"""Reading the web for the imp: listed hosts, public addresses, capped, as content.

``settings``   what the owner may say
``address``    which addresses may be read (pure)
``fetch``      one page, with every redirect asked again
``page_text``  bytes to text, a program of its own
"""

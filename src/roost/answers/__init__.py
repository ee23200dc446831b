"""What the API answers with: one struct per answer, which is encoded as it is and from which the OpenAPI document is made.

A field that may be absent has the default UNSET. No other field has a default: what is declared is sent.
"""

"""Who says who somebody is: an issuer of OpenID Connect, its keys and tokens."""

"""The web page and the HTTP API behind it. It binds to this machine only and is opened by a token."""

"""Finding by name (`text`) and by meaning (`vectors`)."""

"""How the package is made. Everything here may change; what is public is listed in `names/`."""

"""Where public names are defined.

Each module here has a dict NAMES: "math.polyval" (the name below `gyre`) to "module:attribute", or
to "module" for a module itself. A name's attribute may be a path ("module:Class.method").
"""

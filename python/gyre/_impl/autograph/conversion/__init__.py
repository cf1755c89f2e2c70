"""From the syntax tree of a Python function to that of its converted form. What passes make new has
the lines and columns of what it stands for, so that the result can be compiled as the user's own
file."""

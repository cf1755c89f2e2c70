"""What makes Keras run on Gyre: `hook` gives Keras the backend, which the folder `backend` is.

Nothing of Gyre imports this folder but the public module gyre.keras.
"""

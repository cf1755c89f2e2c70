"""Small models with the structure of well-known ones, for ../make_models.py to export."""

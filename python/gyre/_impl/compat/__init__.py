"""Interfaces of older programs. Nothing outside of it stands on what is here."""

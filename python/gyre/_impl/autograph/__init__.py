"""Plain Python control flow, converted."""

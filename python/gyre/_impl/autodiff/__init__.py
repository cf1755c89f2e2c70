"""Gradients of what ran: tapes, and the plans by which they go backwards;
gradients that programs give themselves."""

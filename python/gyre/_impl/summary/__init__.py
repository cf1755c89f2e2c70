"""gyre.summary: numbers over steps, in the event files that TensorBoard shows."""

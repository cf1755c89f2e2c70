"""Messages of protocol buffers: graphs and exported models."""

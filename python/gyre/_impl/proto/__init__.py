"""Messages of protocol buffers: graphs, exported models, events."""

"""What is known while a graph is traced: its values, their layouts, the lines of users' code that
made them."""

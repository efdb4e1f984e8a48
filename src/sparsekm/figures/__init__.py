"""How things are drawn: style, colours, saving."""

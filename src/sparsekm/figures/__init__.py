"""The style of figures: fonts, colours and saving."""

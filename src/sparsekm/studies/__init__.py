"""Studies of the methods: what runs, tabulates and draws them."""

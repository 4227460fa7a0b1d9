"""Sessions whose host compacts: what is sent again without need, and what is withheld."""

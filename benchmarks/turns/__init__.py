"""What a conversation of many turns costs: a scripted agent over real memories."""

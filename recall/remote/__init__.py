"""Clients of services elsewhere: HTTP, and nothing of it unless a person has asked for it."""

"""The page: what `recall ui` serves to a browser on this machine; docs/ui.md."""

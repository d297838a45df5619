"""Being written by another engineer since 15:16; see /tmp/promptlab/NOTE_FROM_LEAD.md."""

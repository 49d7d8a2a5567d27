-- Compaction: a conversation continues with a summary of its history so far.

-- The first message of a lineage that replaces the history before it; none for one that goes back to a milestone.
ALTER TABLE lineages ADD COLUMN summary TEXT;

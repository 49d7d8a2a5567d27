-- How long a lease lasts from one renewal to its end: whoever watches it counts that by a clock of its own.
ALTER TABLE runs ADD COLUMN lease_ms INTEGER;
-- The file in which the owner marks what it is about to send; NULL where it does not, and everything may have been sent.
ALTER TABLE runs ADD COLUMN marks TEXT;

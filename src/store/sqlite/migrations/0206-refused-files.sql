-- Files that a provider refuses.

-- 1 if the exchange ended because the provider refused a request with files: those up to here are shown by their names.
ALTER TABLE exchanges ADD COLUMN refused_files INTEGER CHECK (refused_files = 1);

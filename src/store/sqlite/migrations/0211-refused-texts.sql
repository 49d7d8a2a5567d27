-- Texts that a provider refuses.

-- 1 if the exchange ended because the provider refused its request: a mark is shown in place of each text up to here that
-- no turn had answered.
ALTER TABLE exchanges ADD COLUMN refused_texts INTEGER CHECK (refused_texts = 1);

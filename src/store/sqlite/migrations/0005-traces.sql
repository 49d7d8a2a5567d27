-- The span of this worker's time with the run, as W3C names it: whoever goes on with the run goes on with its trace.
ALTER TABLE attempts ADD COLUMN trace_parent TEXT;

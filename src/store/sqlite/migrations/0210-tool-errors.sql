-- The runs with a call that failed. A commit writes it for such a call alone.
CREATE INDEX failed_receipts ON receipts (run_key, call_no) WHERE status = 'failed';

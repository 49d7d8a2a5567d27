/** For a test that is long by nature, on a machine that may be busy. */
export const PATIENCE = { timeout: 120_000 };

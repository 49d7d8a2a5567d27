/** For a long test, on a machine that may be busy. */
export const PATIENCE = { timeout: 120_000 };

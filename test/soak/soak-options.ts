/** The duration of each timed soak test. */
export const SOAK_MINUTES = Number(process.env.PAWL_SOAK_MINUTES ?? "1.5");

/** The seed; by default a random one. Tests print it. */
export const SOAK_SEED = Number(process.env.PAWL_SOAK_SEED ?? Math.floor(Math.random() * 1_000_000));

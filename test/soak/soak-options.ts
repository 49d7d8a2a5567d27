/** How long each of the tests that go on for a while does. */
export const SOAK_MINUTES = Number(process.env.PAWL_SOAK_MINUTES ?? "1.5");

/** Where chance begins; each time somewhere else, unless said. Tests print it. */
export const SOAK_SEED = Number(process.env.PAWL_SOAK_SEED ?? Math.floor(Math.random() * 1_000_000));

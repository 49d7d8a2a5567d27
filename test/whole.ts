/** `npm run test:full` takes all of what multiplies (points, pairs, schedules); `npm test` takes a seeded sample of it. */
export const IS_WHOLE = process.env.PAWL_TESTS === "whole";

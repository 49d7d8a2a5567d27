import { ConfigurationError } from "../../../core/errors.ts";

/** A time is cut into buckets of this length. */
export function requireBucketMs(bucketMs: number): void {
  if (!Number.isSafeInteger(bucketMs) || bucketMs < 1)
    throw new ConfigurationError(`bucketMs is ${bucketMs}: give a whole number of milliseconds, 1 or more.`);
}

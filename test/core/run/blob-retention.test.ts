import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blobsToDelete } from "../../../src/core/run/blob-retention.ts";

const NOW = 1_000;
const NO_CAP = Number.MAX_SAFE_INTEGER;

/** Blobs of 10 bytes each, of runs that ended at these times. */
function blobsEndedAt(...times: readonly number[]) {
  return times.map((endedAt) => ({ endedAt, size: 10 }));
}

describe("the blobs to delete", () => {
  it("are those of runs that ended longer ago than the retention", () => {
    const [old, limit, young] = blobsEndedAt(899, 900, 950);
    const blobs = [old, limit, young].filter((blob) => blob !== undefined);
    expect(blobsToDelete(blobs, NOW, { olderThanMs: 100, maxBytes: NO_CAP })).toEqual([old]);
    expect(blobsToDelete(blobs, NOW, { olderThanMs: 0, maxBytes: NO_CAP })).toEqual(blobs);
    expect(blobsToDelete(blobs, NOW, { olderThanMs: 1_000, maxBytes: NO_CAP })).toEqual([]);
  });

  it("are also the oldest ones, until the rest fits", () => {
    const blobs = blobsEndedAt(910, 920, 930, 940);
    const deleted = (maxBytes: number) => blobsToDelete(blobs, NOW, { olderThanMs: 1_000, maxBytes }).length;
    expect([40, 39, 30, 29, 10, 9, 0].map(deleted)).toEqual([0, 1, 1, 2, 3, 4, 4]);
  });

  it("are all of them if nothing is kept, and none if there are none", () => {
    const policy = { olderThanMs: -1, maxBytes: 0 };
    expect(blobsToDelete(blobsEndedAt(999, 1_000), NOW, policy)).toHaveLength(2);
    expect(blobsToDelete([], NOW, policy)).toEqual([]);
  });

  it("include an empty one that is not expired only if something is over the limit", () => {
    const blobs = [{ endedAt: 950, size: 0 }, ...blobsEndedAt(960)];
    expect(blobsToDelete(blobs, NOW, { olderThanMs: 100, maxBytes: 10 })).toEqual([]);
    expect(blobsToDelete(blobs, NOW, { olderThanMs: 100, maxBytes: 9 })).toEqual(blobs);
  });
});

describe("whatever the blobs and the policy are", () => {
  const anyBlobs = fc.array(fc.record({ endedAt: fc.nat(2_000), size: fc.nat(50) }));
  const anyPolicy = fc.record({ olderThanMs: fc.integer({ min: -1, max: 1_500 }), maxBytes: fc.nat(500) });

  it("no expired blob is kept, the rest fits, and no blob more than needed is deleted", () => {
    fc.assert(
      fc.property(anyBlobs, anyPolicy, (unsorted, policy) => {
        const blobs = unsorted.toSorted((a, b) => a.endedAt - b.endedAt);
        const deleted = blobsToDelete(blobs, NOW, policy);
        const kept = blobs.slice(deleted.length);
        const sizeOf = (some: typeof blobs) => some.reduce((sum, { size }) => sum + size, 0);
        expect(deleted).toEqual(blobs.slice(0, deleted.length));
        expect(kept.every(({ endedAt }) => endedAt >= NOW - policy.olderThanMs)).toBe(true);
        expect(sizeOf(kept)).toBeLessThanOrEqual(policy.maxBytes);
        const last = deleted.at(-1);
        if (last !== undefined && last.endedAt >= NOW - policy.olderThanMs)
          expect(sizeOf([last, ...kept])).toBeGreaterThan(policy.maxBytes);
      }),
    );
  });
});

/** A blob of a run that has ended. */
export type CollectableBlob = { readonly size: number; readonly endedAt: number };

/**
 * The blobs to delete: those of runs that ended longer ago than the retention, and then the oldest ones, until the rest
 * fits into the limit. Takes all blobs of ended runs, those whose runs ended first coming first.
 */
export function blobsToDelete<B extends CollectableBlob>(
  blobs: readonly B[],
  now: number,
  { olderThanMs, maxBytes }: { readonly olderThanMs: number; readonly maxBytes: number },
): readonly B[] {
  let left = blobs.reduce((sum, { size }) => sum + size, 0);
  const firstKept = blobs.findIndex(({ size, endedAt }) => {
    if (endedAt >= now - olderThanMs && left <= maxBytes) return true;
    left -= size;
    return false;
  });
  return firstKept === -1 ? blobs : blobs.slice(0, firstKept);
}

/** Which blobs of ended runs `collectBlobs` deletes. */
export type BlobRetention = {
  /** Blobs of runs that ended longer ago than this are deleted. */
  readonly olderThanMs: number;
  /** If the blobs of ended runs exceed this, the oldest are deleted too. */
  readonly maxBytes: number;
  readonly dryRun?: boolean;
};

/** What `collectBlobs` deleted, or would delete. */
export type BlobCollection = { readonly blobs: number; readonly bytes: number };

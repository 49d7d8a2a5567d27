/** How much a request may send, and for how long. */
export type RequestLimits = {
  readonly bodyBytes: number;
  /** Chats have files in them. */
  readonly chatBodyBytes: number;
  readonly bodyMs: number;
};

export const REQUEST_LIMITS: RequestLimits = {
  bodyBytes: 2 ** 20,
  chatBodyBytes: 32 * 2 ** 20,
  bodyMs: 30_000,
};

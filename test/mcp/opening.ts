import type { SourceOpening } from "../../src/engine/definition/tool-source.ts";

/** What a source is opened with where no run does: nothing is allowed or hidden beyond the usual. */
export const OPENING: SourceOpening = {
  signal: new AbortController().signal,
  network: { allowedDomains: [], allowPrivateAddresses: false },
  warn: () => undefined,
  learnSecrets: () => undefined,
  hide: (text) => text,
  hideTexts: (value) => value,
};

import type { SourceOpening } from "../../src/engine/definition/tool-source.ts";

/** The context to open a source with outside of a run: nothing is allowed or hidden beyond the defaults. */
export const OPENING: SourceOpening = {
  signal: new AbortController().signal,
  network: { allowedDomains: [], allowPrivateAddresses: false },
  warn: () => undefined,
  learnSecrets: () => undefined,
  hide: (text) => text,
  hideTexts: (value) => value,
};

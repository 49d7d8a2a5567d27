// Opens a store on a thread of the conformance suite.

import { type OpenStoreOptions, openStore } from "../../src/store/open-store.ts";
import type { Store } from "../../src/store/store.ts";

export default function open(data: {
  readonly url: string;
  readonly options: OpenStoreOptions;
}): Promise<Store> {
  return openStore(data.url, data.options);
}

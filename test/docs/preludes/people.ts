// What a page about people's answers uses and does not declare.

import type { Json, Runner, Store } from "../../../src/index.ts";

export declare const store: Store;
export declare const runner: Runner<string>;
export declare const waitId: string;
export declare const input: Json;

import type { Attack } from "../attack.ts";
import { FILE_ATTACKS } from "./file-attacks.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";

export const ATTACKS: readonly Attack[] = [...FILE_ATTACKS, ...NETWORK_ATTACKS];

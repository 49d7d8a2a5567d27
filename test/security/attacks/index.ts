import type { Attack } from "../attack.ts";
import { DATABASE_ATTACKS } from "./database-attacks.ts";
import { FILE_ATTACKS } from "./file-attacks.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";

export const ATTACKS: readonly Attack[] = [
  ...DATABASE_ATTACKS,
  ...FILE_ATTACKS,
  ...NETWORK_ATTACKS,
];

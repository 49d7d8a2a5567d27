import type { Attack } from "../attack.ts";
import { DATABASE_ATTACKS } from "./database-attacks.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS, ...DATABASE_ATTACKS];

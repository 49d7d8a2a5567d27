import type { Attack } from "../attack.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";
import { SECRET_ATTACKS } from "./secret-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS, ...SECRET_ATTACKS];

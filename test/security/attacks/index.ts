import type { Attack } from "../attack.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";
import { TIME_ATTACKS } from "./time-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS, ...TIME_ATTACKS];

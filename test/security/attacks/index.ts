import type { Attack } from "../attack.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";
import { POLICY_ATTACKS } from "./policy-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS, ...POLICY_ATTACKS];

import type { Attack } from "../attack.ts";
import { CONFIGURATION_ATTACKS } from "./configuration-attacks.ts";
import { JOB_ATTACKS } from "./job-attacks.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS, ...CONFIGURATION_ATTACKS, ...JOB_ATTACKS];

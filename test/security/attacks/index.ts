import type { Attack } from "../attack.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";

export const ATTACKS: readonly Attack[] = [...NETWORK_ATTACKS];

import type { Attack } from "../attack.ts";
import { CONFIGURATION_ATTACKS } from "./configuration-attacks.ts";
import { DATABASE_ATTACKS } from "./database-attacks.ts";
import { FILE_ATTACKS } from "./file-attacks.ts";
import { HIDDEN_VALUE_ATTACKS } from "./hidden-value-attacks.ts";
import { JOB_ATTACKS } from "./job-attacks.ts";
import { NETWORK_ATTACKS } from "./network-attacks.ts";
import { POLICY_ATTACKS } from "./policy-attacks.ts";
import { SECRET_ATTACKS } from "./secret-attacks.ts";
import { TIME_ATTACKS } from "./time-attacks.ts";

export const ATTACKS: readonly Attack[] = [
  ...CONFIGURATION_ATTACKS,
  ...DATABASE_ATTACKS,
  ...FILE_ATTACKS,
  ...HIDDEN_VALUE_ATTACKS,
  ...JOB_ATTACKS,
  ...NETWORK_ATTACKS,
  ...POLICY_ATTACKS,
  ...SECRET_ATTACKS,
  ...TIME_ATTACKS,
];

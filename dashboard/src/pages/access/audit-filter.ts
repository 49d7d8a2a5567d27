import type { Period } from "../../words/periods.ts";

/** Which entries of the audit log are shown. */
export type AuditFilter = {
  readonly who: string | null;
  readonly act: string | null;
  readonly target: string | null;
  readonly since: Period | null;
};

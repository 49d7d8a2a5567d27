import { z } from "zod";
import type { Clock } from "../../engine/ports/clock.ts";
import { isoTime } from "../../export/figures.ts";
import type { AuditRange, AuditRecord, Store } from "../../store/store.ts";
import type { Handlers } from "../handler.ts";
import { readListPage } from "../handlers/list-page.ts";
import { HttpProblem } from "../http-problem.ts";
import { isWhole } from "../scope/run-scope.ts";

/** The audit log. Its rows are about all runs, so it is only for admins of all runs. */
export function auditHandlers(
  store: Pick<Store, "listAudit">,
  clock: Pick<Clock, "now">,
): Handlers<"listAudit"> {
  return {
    listAudit: async ({ query: { cursor, limit, ...filter } }, { principal }) => {
      if (!isWhole(principal.scope))
        throw new HttpProblem(
          403,
          "scope_too_small",
          "The audit log is about all runs, and you see some of them: ask an admin of all runs.",
        );
      const body = await readListPage({
        list: { list: "audit", ...filter },
        query: { cursor, limit },
        place: z.int(),
        read: ({ after, limit: most }) =>
          store.listAudit({
            ...rangeOf(filter),
            ...(after === undefined ? {} : { after }),
            limit: most,
          }),
        placeOf: ({ no }: AuditRecord) => no,
        document: auditDocument,
        now: clock.now(),
      });
      return { status: 200, body };
    },
  };
}

type Filter = {
  readonly who?: string | undefined;
  readonly act?: string | undefined;
  readonly target?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};

function rangeOf({ who, act, target, since, until }: Filter): Omit<AuditRange, "limit"> {
  return {
    ...(who === undefined ? {} : { who }),
    ...(act === undefined ? {} : { act }),
    ...(target === undefined ? {} : { target }),
    ...(since === undefined ? {} : { since: Date.parse(since) }),
    ...(until === undefined ? {} : { until: Date.parse(until) }),
  };
}

function auditDocument({ no, at, who, act, target, status, problem, requestId }: AuditRecord) {
  return {
    no,
    at: isoTime(at),
    who: { ...who, role: who.role ?? "none" },
    act,
    target,
    outcome: problem === null ? String(status) : `${status} ${problem}`,
    requestId: requestId ?? "",
  };
}

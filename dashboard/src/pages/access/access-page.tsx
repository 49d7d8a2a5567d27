import type { ReactNode } from "react";
import { flag, maybeOneOf, oneOf, optional } from "../../browser/search-params.ts";
import { useSearchParams } from "../../browser/use-search-params.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Choice } from "../../parts/controls/choice.tsx";
import { Notice } from "../../parts/layout/notice.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { PERIODS } from "../../words/periods.ts";
import { AuditLog } from "./audit-log.tsx";
import { Tokens } from "./tokens.tsx";

const ACCESS_PARAMS = {
  view: oneOf(["tokens", "audit"], "tokens"),
  all: flag,
  who: optional,
  act: optional,
  target: optional,
  since: maybeOneOf(PERIODS),
} as const;

/** Who may come in, and what people did. */
export default function AccessPage(): ReactNode {
  const { me } = useDashboard();
  const [{ view, all, ...filter }, change] = useSearchParams(ACCESS_PARAMS);
  if (me.role !== "admin") {
    return (
      <Page title="Access">
        <Notice kind="warning" title="Only admins see tokens and the audit log.">
          You are signed in as {me.role}. Ask an admin for a token of that role.
        </Notice>
      </Page>
    );
  }
  return (
    <Page
      title="Access"
      beside={
        <Choice
          label="View"
          options={{ tokens: "Tokens", audit: "Audit log" }}
          value={view}
          onChange={(next) => change({ view: next })}
        />
      }
    >
      {view === "tokens" ? (
        <Tokens isAll={all} onAll={(next) => change({ all: next })} />
      ) : (
        <AuditLog filter={filter} onChange={change} />
      )}
    </Page>
  );
}

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon, type IconName } from "../../parts/controls/icon.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted } from "../../words/money-words.ts";

type Check = Answer<"getDoctor">["checks"][number];

const LOOKS: {
  readonly [S in Check["status"]]: {
    readonly icon: IconName;
    readonly word: string;
    readonly colour: string;
  };
} = {
  ok: { icon: "succeeded", word: "ok", colour: "text-succeeded" },
  warn: { icon: "interrupted", word: "warning", colour: "text-interrupted" },
  fail: { icon: "failed", word: "failed", colour: "text-failed" },
};

/** What `pawl doctor` finds on the machine of the server. It reads many runs, so an admin asks for it. */
export function InstallationChecks(): ReactNode {
  const { client } = useDashboard();
  const { data, error, errorUpdatedAt, isFetching, refetch } = useQuery({
    queryKey: ["doctor"],
    queryFn: ({ signal }) => client.getDoctor({ signal }),
    enabled: false,
    retry: false,
  });
  return (
    <Section title="Checks">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button disabled={isFetching} onClick={() => void refetch()}>
          {isFetching ? "Checking…" : data === undefined ? "Run the checks" : "Check again"}
        </Button>
        <span className="text-ink-3">
          {data === undefined ? (
            <>
              What <code>pawl doctor</code> checks: the store and its place, the runs in it, and the queues.
            </>
          ) : (
            <>
              checked <Ago at={data.checkedAt} />
            </>
          )}
        </span>
      </div>
      {error !== null && <ProblemNotice error={error} what="Nothing was checked." since={errorUpdatedAt} />}
      {data !== undefined && <Findings checks={data.checks} />}
    </Section>
  );
}

/** What is wrong comes first, and in full. What is not takes one line. */
function Findings({ checks }: { readonly checks: readonly Check[] }): ReactNode {
  const fine = checks.filter(({ status }) => status === "ok");
  const wrong = [
    ...checks.filter(({ status }) => status === "fail"),
    ...checks.filter(({ status }) => status === "warn"),
  ];
  return (
    <>
      {wrong.length > 0 && <CheckList checks={wrong} label="Problems" />}
      <details>
        <summary className="disclosure text-succeeded">
          <Icon name="succeeded" />{" "}
          {wrong.length === 0
            ? `all ${counted(fine.length, "check")} passed`
            : `${counted(fine.length, "other check")} passed`}
        </summary>
        <div className="mt-2">
          <CheckList checks={fine} label="Passed checks" />
        </div>
      </details>
    </>
  );
}

function CheckList({
  checks,
  label,
}: {
  readonly checks: readonly Check[];
  readonly label: string;
}): ReactNode {
  return (
    <ul aria-label={label} className="rounded-lg border border-line bg-panel">
      {checks.map((check) => (
        <li
          key={check.name}
          className="grid grid-cols-[5.5rem_minmax(0,1fr)] gap-x-3 gap-y-0.5 border-b border-line px-3 py-1.5 last:border-0 md:grid-cols-[5.5rem_6rem_minmax(0,1fr)]"
        >
          <CheckStatus status={check.status} />
          <span className="text-ink-2">{check.name}</span>
          <span className="col-span-full min-w-0 md:col-span-1">
            <VisibleLine text={check.what} />
            {check.remedy !== null && (
              <span className="block text-ink-2">
                <span className="text-ink-3">What to do: </span>
                <VisibleLine text={check.remedy} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function CheckStatus({ status }: { readonly status: Check["status"] }): ReactNode {
  const { icon, word, colour } = LOOKS[status];
  return (
    <span className={`inline-flex items-center gap-1.5 self-start whitespace-nowrap ${colour}`}>
      <Icon name={icon} /> {word}
    </span>
  );
}

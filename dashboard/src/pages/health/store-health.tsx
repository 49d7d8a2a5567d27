import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { keepFinding, useFinding } from "../../browser/integrity-finding.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { FactPanel } from "../../parts/layout/facts.tsx";
import { Notice, ProblemNotice } from "../../parts/layout/notice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { counted, sizeWords } from "../../words/money-words.ts";

type Server = Answer<"getServer">;
const DATABASES = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;

/** The database, and whether it is whole. */
export function StoreHealth({ server: { store } }: { readonly server: Server }): ReactNode {
  const { me } = useDashboard();
  return (
    <Section title="Store">
      <FactPanel
        facts={[
          ["Database", DATABASES[store.database]],
          ["Name", <VisibleLine key="name" text={store.name} />],
          ["Size", store.sizeBytes === null ? null : sizeWords(store.sizeBytes)],
          ["Write-ahead log", store.logBytes === null ? null : sizeWords(store.logBytes)],
          ["Schema version", String(store.schemaVersion)],
        ]}
      />
      {me.role === "admin" && <IntegrityCheck />}
    </Section>
  );
}

/** Reads all of the database, so it is done when an admin asks for it. */
function IntegrityCheck(): ReactNode {
  const { client } = useDashboard();
  const finding = useFinding();
  const check = useMutation({
    mutationFn: () => client.checkIntegrity(),
    onSuccess: ({ problems, checkedAt }) =>
      keepFinding({ problems, checkedAt, isSeen: problems.length === 0 }),
  });
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button disabled={check.isPending} onClick={() => check.mutate()}>
          {check.isPending ? "Checking…" : "Check the database"}
        </Button>
        <span className="text-ink-3">
          {finding === null ? (
            "It reads all of the database, and takes a while."
          ) : finding.problems.length === 0 ? (
            <span className="text-succeeded">
              <Icon name="succeeded" /> whole, checked <Ago at={finding.checkedAt} />
            </span>
          ) : (
            <>
              checked <Ago at={finding.checkedAt} />
            </>
          )}
        </span>
      </div>
      {check.error !== null && <ProblemNotice error={check.error} what="The database was not checked." />}
      {finding !== null && finding.problems.length > 0 && (
        <Notice kind="problem" title={`The check found ${counted(finding.problems.length, "problem")}.`}>
          <ul className="list-disc pl-4">
            {finding.problems.map((problem) => (
              <li key={problem} className="font-mono text-xs">
                <VisibleLine text={problem} />
              </li>
            ))}
          </ul>
          <p className="mt-1">Stop the workers, and restore a backup before you resume runs.</p>
          {!finding.isSeen && (
            <Button className="mt-2" onClick={() => keepFinding({ ...finding, isSeen: true })}>
              I have looked at it
            </Button>
          )}
        </Notice>
      )}
    </div>
  );
}

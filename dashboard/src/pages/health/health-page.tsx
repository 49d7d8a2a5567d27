import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useNow } from "../../live/use-now.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { Link } from "../../parts/controls/link.tsx";
import { FactPanel } from "../../parts/layout/facts.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { Page } from "../../parts/layout/page.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { Exact } from "../../parts/text/time.tsx";
import { counted } from "../../words/money-words.ts";
import { longDurationWords } from "../../words/time-words.ts";
import { InstallationChecks } from "./installation-checks.tsx";
import { StoreHealth } from "./store-health.tsx";
import { Webhooks } from "./webhooks.tsx";
import { WhoWorks } from "./who-works.tsx";

const LEASES_MS = 5_000;
const SERVER_MS = 30_000;

/** Who works on runs now, the store, and the server itself. */
export default function HealthPage(): ReactNode {
  const { me } = useDashboard();
  const activity = useRefreshed(["activity"], LEASES_MS, (client, signal) => client.getActivity({ signal }));
  const server = useRefreshed(["server"], SERVER_MS, (client, signal) => client.getServer({ signal }));
  return (
    <Page title="Health">
      <div className="flex flex-col gap-6">
        <Loaded query={activity} what="Who works could not be read.">
          {(data) => <WhoWorks activity={data} />}
        </Loaded>
        <Loaded query={server} what="The server could not be read.">
          {(data) => (
            <div className="grid items-start gap-6 lg:grid-cols-2">
              <StoreHealth server={data} />
              <ServerHealth server={data} />
            </div>
          )}
        </Loaded>
        {me.role === "admin" && <InstallationChecks />}
        {me.role === "admin" && <Webhooks />}
      </div>
    </Page>
  );
}

function ServerHealth({ server }: { readonly server: Answer<"getServer"> }): ReactNode {
  const { me } = useDashboard();
  const now = useNow();
  return (
    <Section title="Server">
      <FactPanel
        facts={[
          ["Version", server.version],
          [
            "Up for",
            <Exact key="up" at={server.startedAt}>
              {longDurationWords(Math.max(0, now - Date.parse(server.startedAt)))}
            </Exact>,
          ],
          ["Open pages", counted(server.streams, "stream")],
          [
            "Worker inside",
            server.hasWorker ? (
              "yes"
            ) : (
              <Link key="no" href="/workers" className="text-accent hover:underline">
                no, see Workers
              </Link>
            ),
          ],
          ["Read only", server.isReadOnly ? "yes: acts are refused" : null],
          [
            "Access",
            me.role === "admin" ? (
              <Link key="access" href="/access" className="text-accent hover:underline">
                tokens and the audit log
              </Link>
            ) : null,
          ],
        ]}
      />
    </Section>
  );
}

import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../app/dashboard-context.ts";
import { useNow } from "../../live/use-now.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { Facts } from "../../parts/facts.tsx";
import { Link } from "../../parts/link.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { counted } from "../../parts/money-words.ts";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { Exact } from "../../parts/time.tsx";
import { longDurationWords } from "../../parts/time-words.ts";
import { StoreHealth } from "./store-health.tsx";
import { WhoWorks } from "./who-works.tsx";

const LEASES_MS = 5_000;
const SERVER_MS = 30_000;

/** Who works on runs now, the store, and the server itself. */
export default function HealthPage(): ReactNode {
  const activity = useRefreshed(["activity"], LEASES_MS, (client, signal) =>
    client.getActivity({}, { signal }),
  );
  const server = useRefreshed(["server"], SERVER_MS, (client, signal) => client.getServer({}, { signal }));
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
      </div>
    </Page>
  );
}

function ServerHealth({ server }: { readonly server: Answer<"getServer"> }): ReactNode {
  const { me } = useDashboard();
  const now = useNow();
  return (
    <Section title="Server">
      <Facts
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
          ["Read only", server.isReadOnly ? "yes: nobody can act" : null],
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

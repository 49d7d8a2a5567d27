import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Answer } from "../../api/client.ts";
import { useDashboard } from "../../live/dashboard-context.ts";
import { useRefreshed } from "../../live/use-refreshed.ts";
import { Button } from "../../parts/controls/button.tsx";
import { Icon } from "../../parts/controls/icon.tsx";
import { Command } from "../../parts/layout/empty-state.tsx";
import { Loaded } from "../../parts/layout/loaded.tsx";
import { ProblemNotice } from "../../parts/layout/notice.tsx";
import { Section } from "../../parts/layout/section.tsx";
import { type Column, Table } from "../../parts/layout/table.tsx";
import { RunId } from "../../parts/text/id.tsx";
import { Ago } from "../../parts/text/time.tsx";
import { VisibleLine } from "../../parts/text/visible.tsx";
import { scopeWords } from "../../words/scope-words.ts";

type Webhook = Answer<"listWebhooks">["items"][number];
type Delivery = Answer<"listDeliveries">["items"][number];

const WEBHOOKS_MS = 30_000;
const DELIVERIES_MS = 5_000;
const SHOWN = 20;

/** Where events of runs are sent, and whether they arrive. For admins. */
export function Webhooks(): ReactNode {
  const webhooks = useRefreshed(["webhooks"], WEBHOOKS_MS, (client, signal) =>
    client.listWebhooks({ signal }),
  );
  return (
    <Loaded query={webhooks} what="The webhooks could not be read.">
      {({ items }) => (
        <Section title="Webhooks">
          {items.length === 0 ? (
            <p className="flex flex-wrap items-center gap-2 text-ink-2">
              Nothing is sent when a run waits or ends. This adds an address of yours:{" "}
              <Command text="pawl webhook add https://example.com/pawl" />
            </p>
          ) : (
            <div className="flex flex-col gap-4">
              {items.map((webhook) => (
                <WebhookView key={webhook.webhookId} webhook={webhook} />
              ))}
            </div>
          )}
        </Section>
      )}
    </Loaded>
  );
}

function WebhookView({ webhook }: { readonly webhook: Webhook }): ReactNode {
  const { webhookId, url, events, scope, content, disabledAt } = webhook;
  const deliveries = useRefreshed(["deliveries", webhookId], DELIVERIES_MS, (client, signal) =>
    client.listDeliveries({ webhookId, signal }),
  );
  const test = useSending(webhookId, (client) => client.testWebhook({ webhookId }));
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium break-all">
          <VisibleLine text={url} />
        </span>
        <span className="font-mono text-xs text-ink-3">{webhookId}</span>
        {disabledAt === null ? (
          <Button disabled={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
        ) : (
          <span className="text-failed">
            <Icon name="failed" /> off: its receiver answered 410 <Ago at={disabledAt} />
          </span>
        )}
      </div>
      <p className="text-xs text-ink-3">
        {events.join(", ")} of <VisibleLine text={scopeWords(scope)} />
        {content && ", with questions and arguments"}
      </p>
      {test.error !== null && <ProblemNotice error={test.error} what="The test was not sent." />}
      <Loaded query={deliveries} what="Its deliveries could not be read.">
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-ink-3">Nothing was to be sent yet.</p>
          ) : (
            <Deliveries webhook={webhook} items={items.slice(0, SHOWN)} />
          )
        }
      </Loaded>
    </div>
  );
}

type DeliveriesProps = { readonly webhook: Webhook; readonly items: readonly Delivery[] };

function Deliveries({ webhook, items }: DeliveriesProps): ReactNode {
  const columns: readonly Column<Delivery>[] = [
    { name: "Event", cell: ({ event }) => event },
    {
      name: "Run",
      isUnnamed: true,
      cell: ({ runId }) => (runId === null ? null : <RunId runId={runId} />),
    },
    { name: "State", width: "minmax(0,1fr)", isUnnamed: true, cell: (delivery) => <State of={delivery} /> },
    { name: "When", isUnnamed: true, cell: ({ at }) => <Ago at={at} /> },
    {
      name: "Act",
      align: "right",
      isUnnamed: true,
      cell: (delivery) =>
        webhook.disabledAt === null ? (
          <SendAgain webhookId={webhook.webhookId} deliveryId={delivery.deliveryId} />
        ) : null,
    },
  ];
  return (
    <Table
      label={`Deliveries of ${webhook.webhookId}`}
      columns={columns}
      rows={items}
      keyOf={({ deliveryId }) => deliveryId}
    />
  );
}

function State({ of: { state, attempts, nextAt, lastError } }: { readonly of: Delivery }): ReactNode {
  if (state === "delivered")
    return (
      <span className="text-succeeded">
        <Icon name="succeeded" /> received
      </span>
    );
  return (
    <span className={state === "failed" ? "text-failed" : "text-ink-2"}>
      {state === "failed" && <Icon name="failed" />}{" "}
      {state === "failed" ? `given up after ${attempts} attempts` : attempts === 0 ? "to be sent" : "again "}
      {state === "pending" && attempts > 0 && nextAt !== null && <Ago at={nextAt} />}
      {lastError !== null && (
        <span className="block text-xs text-ink-3">
          <VisibleLine text={lastError} />
        </span>
      )}
    </span>
  );
}

type SendAgainProps = { readonly webhookId: string; readonly deliveryId: string };

function SendAgain({ webhookId, deliveryId }: SendAgainProps): ReactNode {
  const again = useSending(webhookId, (client) => client.sendAgain({ webhookId, deliveryId }));
  return (
    <>
      <Button kind="quiet" className="-my-1" disabled={again.isPending} onClick={() => again.mutate()}>
        Send again
      </Button>
      {again.error !== null && <ProblemNotice error={again.error} what="It is not sent again." />}
    </>
  );
}

/** Sends something, and reads what became of it. */
function useSending(
  webhookId: string,
  send: (client: ReturnType<typeof useDashboard>["client"]) => Promise<unknown>,
) {
  const { client } = useDashboard();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => send(client),
    onSettled: () => queries.invalidateQueries({ queryKey: ["deliveries", webhookId] }),
  });
}

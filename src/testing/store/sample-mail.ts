import type { Store } from "../../store/store.ts";
import { newRun, SampleRun } from "./sample-run.ts";

/**
 * A run that others find and reach: "mail" has labels and an address, waits for the clock, for a message and for a person
 * who is reminded, and has a message of each status.
 */
export async function mailScenario(store: Store, advance: (ms: number) => void): Promise<SampleRun> {
  const run = await SampleRun.create(store, "mail", {
    queue: "mail",
    concurrencyKey: "ann",
    priority: 3,
    metadata: { tenant: "acme", tags: ["new", "größe 🙂"] },
    callContext: { customer: 7 },
    address: "invoice:7",
  });
  await run.journaled(1, ["running", "running", "running", "running"]);
  for (const call of [1, 2, 3, 4]) await run.endAttempt(1, call, { outcome: "needs_wait" });
  await run.waiting(
    run.wait(1, 1, { kind: "time", due: { inMs: 5_000 }, onDue: { action: "answer", value: null } }),
    run.wait(1, 2, { kind: "message", matches: "paid.*" }),
    run.wait(1, 3, {
      kind: "question",
      due: { inMs: 9_000 },
      remindEveryMs: 1_000,
      onDue: { action: "fail", why: "Nobody answered." },
    }),
    run.wait(1, 4, { kind: "in_doubt", due: { inMs: 10 }, onDue: { action: "escalate" } }),
  );
  await store.sendMessage("mail", { id: "taken", event: "paid.cash", body: 1, by: { by: "bank" } });
  await store.sendMessage("mail", { id: "waiting", event: "shipped", body: { parcels: 2 } });
  await store.sendMessage("mail", { id: "withdrawn", event: "other", body: null });
  await store.withdrawMessage("mail", "withdrawn");
  await store.sendMessage("mail", { id: "returned", event: null, body: "Hello?" });
  advance(1_000);
  await store.wakeRun("mail");
  return run;
}

/** A run that is not ready before its time. */
export async function laterScenario(store: Store, notBefore: number): Promise<void> {
  const { leaseMs: _, ...run } = newRun("later", { metadata: { tenant: "acme" } });
  await store.enqueueRun({ ...run, notBefore });
}

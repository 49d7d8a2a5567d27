import { expect, it } from "vitest";
import { Pipeline, RunDeletedError, Runner, Step, type Store } from "../../../src/index.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

const short = Pipeline.of(
  "short",
  Step.run("only", () => 1),
);

type Ask = (runner: Runner, store: Store) => Promise<unknown>;

it.each<[string, Ask]>([
  ["run", (runner) => runner.run(null, { runId: "gone" })],
  ["enqueue", (runner) => runner.enqueue(null, { runId: "gone" })],
  ["resume", (runner) => runner.resume("gone")],
  ["forecast", (runner) => runner.forecast("gone")],
  ["advance", (runner) => runner.advance("gone")],
  ["fork", (runner) => runner.fork("gone", { atTurn: 1 })],
  ["send", (runner) => runner.send("gone", { event: "paid" })],
  ["unsend", (runner) => runner.unsend("gone", "m-1")],
  ["store.verify", (_, store) => store.verify("gone")],
  ["store.listEvents", (_, store) => store.listEvents("gone")],
  ["store.requestCancel", (_, store) => store.requestCancel("gone")],
  ["store.approve", (_, store) => store.approve("gone~1")],
  ["store.deny", (_, store) => store.deny("gone~1", "No.")],
  ["store.answer", (_, store) => store.answer("gone~1", "yes")],
  ["store.settle", (_, store) => store.settle("gone/only#0.1", { as: "retry" })],
])("%s of a deleted run says when and by whom it was deleted", async (_, ask) => {
  const store = await memoryStore();
  const runner = new Runner(short, { store });
  await runner.run(null, { runId: "gone" });
  await store.deleteRun("gone", { why: "It was a test.", by: { by: "ann" } });
  const { message } = await failureAs(RunDeletedError, ask(runner as Runner, store));
  expect(message).toMatch(/^Run gone was deleted at \d{4}-\S+Z by ann \(It was a test\.\)/);
});

import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { secretCheck } from "../../../src/core/webhook/webhook-signature.ts";
import { openStore, type Store } from "../../../src/index.ts";
import { servePawl } from "../../../src/server/http/serve-pawl.ts";
import { secretOf } from "../../../src/server/webhooks/webhook-secret.ts";
import { FAILED, SampleRun, SUCCEEDED, sha256 } from "../../../src/testing/store/sample-run.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { isSignedWith, type Received, type Receiver, startReceiver, status } from "./receiver.ts";
import { addWebhook, type TestSender, testSender } from "./sender-world.ts";

const START = Date.UTC(2026, 0, 1);
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

type World = TestSender & {
  readonly store: Store;
  readonly receiver: Receiver;
  readonly advance: (ms: number) => void;
};

async function world(options: { readonly allowsPrivate?: boolean } = {}): Promise<World> {
  let time = START;
  const now = () => time;
  const store = await openStore(":memory:", { now });
  return {
    store,
    receiver: await startReceiver(),
    ...testSender(store, now, options.allowsPrivate ?? true),
    advance: (ms) => {
      time += ms;
    },
  };
}

async function succeed(store: Store, runId: string): Promise<void> {
  const { fence } = await SampleRun.create(store, runId);
  await store.releaseRun(fence, SUCCEEDED);
}

const lastOf = ({ received }: Receiver): Received => received.at(-1) as Received;

it("an approval is sent at once, signed, with ids and a link and nothing of its arguments", async () => {
  const { store, receiver, look, errors } = await world();
  const secret = await addWebhook(store, receiver.url);
  const run = await SampleRun.create(store, "pay-1");
  await run.journaled(1, ["prepared"]);
  await run.waiting(run.approval(1, 1, sha256("arguments").toString("hex")));
  const { seq } = await run.lastEvent();
  await look();
  expect(errors).toEqual([]);
  expect(receiver.received).toHaveLength(1);
  const message = lastOf(receiver);
  expect(message.id).toBe(`pay-1:${seq}`);
  expect(message.timestamp).toBe(START / 1_000);
  expect(message.message).toEqual({
    type: "wait.opened",
    timestamp: new Date(START).toISOString(),
    data: {
      runId: "pay-1",
      pipeline: "report",
      waitId: "pay-1~1",
      kind: "approval",
      status: "open",
      link: "https://pawl.example.com/waits/pay-1~1",
    },
  });
  expect(isSignedWith(secret, message)).toBe(true);
  expect(isSignedWith(`whsec_${Buffer.alloc(32).toString("base64")}`, message)).toBe(false);
  expect(isSignedWith(secret, { ...message, body: `${message.body} ` })).toBe(false);
  await look();
  expect(receiver.received).toHaveLength(1);
});

it("questions, arguments and errors are sent to a webhook that asks for them", async () => {
  const { store, receiver, look } = await world();
  await addWebhook(store, receiver.url, { content: true });
  const run = await SampleRun.create(store, "pay-1");
  await run.journaled(1, ["prepared"]);
  await run.waiting({
    ...run.approval(1, 1, sha256("arguments").toString("hex")),
    question: "Pay 7 €?",
    subject: { tool: "pay", arguments: { amount: 7 } },
  });
  await look();
  expect(lastOf(receiver).message.data.content).toEqual({
    question: "Pay 7 €?",
    subject: { tool: "pay", arguments: { amount: 7 } },
  });
  const failed = await SampleRun.create(store, "pay-2");
  await store.releaseRun(failed.fence, FAILED);
  await look();
  const error = { code: "step_failed", message: "It broke." };
  expect(lastOf(receiver).message.data).toMatchObject({ status: "failed", content: { error } });
  await store.deleteRun("pay-2", { why: "test" });
  const [sent] = (await store.listDeliveries("w-1")).filter(({ runId }) => runId === "pay-2");
  await store.sendAgain("w-1", sent?.deliveryId ?? "");
  await look();
  expect(lastOf(receiver).message.data, "what was deleted is not sent").not.toHaveProperty("content");
});

it("a message about a wait is sent without its content once the run is deleted", async () => {
  const { store, receiver, look, errors } = await world();
  await addWebhook(store, receiver.url, { content: true, events: ["wait.opened"] });
  const run = await SampleRun.create(store, "pay-1");
  await run.journaled(1, ["prepared"]);
  await run.waiting(run.approval(1, 1, sha256("arguments").toString("hex")));
  receiver.answerWith(status(200));
  await look();
  expect(lastOf(receiver).message.data).toHaveProperty("content");
  await store.requestCancel("pay-1");
  await store.deleteRun("pay-1", { why: "test" });
  const [sent] = await store.listDeliveries("w-1");
  await store.sendAgain("w-1", sent?.deliveryId ?? "");
  await look();
  expect(errors).toEqual([]);
  expect(receiver.received).toHaveLength(2);
  expect(lastOf(receiver).message.data).not.toHaveProperty("content");
  expect((await store.listDeliveries("w-1"))[0]).toMatchObject({ state: "delivered" });
});

it("a message that cannot be made counts as an attempt that failed", async () => {
  const now = () => START;
  const store = await openStore(":memory:", { now });
  const receiver = await startReceiver();
  await addWebhook(store, receiver.url, { content: true });
  const { fence } = await SampleRun.create(store, "run-1");
  await store.releaseRun(fence, FAILED);
  const broken = new Proxy(store, {
    get: (target, name) => {
      if (name === "readRunHead") return () => Promise.reject(new Error("It is broken."));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  await testSender(broken, now).look();
  expect(receiver.received).toEqual([]);
  const [delivery] = await store.listDeliveries("w-1");
  expect(delivery).toMatchObject({ attempts: 1, nextAt: START + 5 * SECOND, lastError: "It is broken." });
});

it("one look sends everything that is due, eight at a time", async () => {
  const { store, receiver, look } = await world();
  await addWebhook(store, receiver.url, { events: ["run.succeeded"] });
  for (let i = 0; i < 20; i += 1) await succeed(store, `run-${i}`);
  await look();
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(20);
});

it("a sender that is closed sends nothing more, also if it is looking just then", async () => {
  const { store, receiver, look, close } = await world();
  await addWebhook(store, receiver.url, { events: ["run.succeeded"] });
  for (let i = 0; i < 20; i += 1) await succeed(store, `run-${i}`);
  await store.recordDeliveries();
  const looked = look();
  await close();
  await looked;
  expect(receiver.received).toEqual([]);
  await testSender(store, () => START).look();
  expect(receiver.received, "another one does").toHaveLength(20);
});

it("a message that was not received comes again under the same id, up to three days later", async () => {
  const { store, receiver, look, advance } = await world();
  const secret = await addWebhook(store, receiver.url);
  await succeed(store, "run-1");
  const pauses = [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
  ];
  receiver.answerWith(...Array(10).fill(status(503)));
  await look();
  for (const [i, pause] of pauses.entries()) {
    advance(pause - 1);
    await look();
    expect(receiver.received, "not before its time").toHaveLength(i + 1);
    advance(1);
    await look();
    expect(receiver.received).toHaveLength(i + 2);
  }
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  expect(new Set(receiver.received.map(({ timestamp }) => timestamp)).size, "signed again").toBe(10);
  expect(receiver.received.every((each) => isSignedWith(secret, each))).toBe(true);
  const [given] = await store.listDeliveries("w-1");
  expect(given).toMatchObject({ state: "failed", attempts: 10, lastStatus: 503, nextAt: null });
  await store.sendAgain("w-1", given?.deliveryId ?? "");
  await look();
  expect((await store.listDeliveries("w-1"))[0]).toMatchObject({ state: "delivered", attempts: 11 });
});

it("a redirect is not followed, and a receiver that is gone gets nothing more", async () => {
  const { store, receiver, look, advance } = await world();
  await addWebhook(store, receiver.url);
  receiver.answerWith(status(307, { location: `${receiver.url}/elsewhere` }), status(410));
  await succeed(store, "run-1");
  await look();
  expect(receiver.received).toHaveLength(1);
  expect((await store.listDeliveries("w-1"))[0]).toMatchObject({ state: "pending", lastStatus: 307 });
  advance(5 * SECOND);
  await look();
  expect(await store.getWebhook("w-1")).toMatchObject({ disabledAt: START + 5 * SECOND });
  await succeed(store, "run-2");
  advance(HOUR);
  await look();
  expect(receiver.received).toHaveLength(2);
});

it("a private address is refused unless it is allowed, and nothing is sent there", async () => {
  const { store, receiver, look } = await world({ allowsPrivate: false });
  await addWebhook(store, receiver.url);
  await succeed(store, "run-1");
  await look();
  expect(receiver.received).toEqual([]);
  const [delivery] = await store.listDeliveries("w-1");
  expect(delivery).toMatchObject({ state: "pending", attempts: 1, lastStatus: null });
  expect(delivery?.lastError).toContain("private or reserved");
  expect(delivery?.lastError).toContain("--allow-private-webhooks");
  expect(delivery?.lastError).not.toMatch(/127\.0\.0\.1|\/hooks|allowedDomains/);
});

it("for a day after a secret was replaced, both sign", async () => {
  const { store, receiver, look, advance } = await world();
  const old = await addWebhook(store, receiver.url);
  const next = await secretOf(store, "w-1", 2);
  await store.rotateWebhook("w-1", { generation: 2, secretCheck: secretCheck(next) });
  advance(23 * HOUR);
  await succeed(store, "run-1");
  await look();
  expect([old, next].map((secret) => isSignedWith(secret, lastOf(receiver)))).toEqual([true, true]);
  advance(HOUR);
  await succeed(store, "run-2");
  await look();
  expect([old, next].map((secret) => isSignedWith(secret, lastOf(receiver)))).toEqual([false, true]);
});

it("a process with another key sends nothing, and says why", async () => {
  const { store, receiver, look } = await world();
  await addWebhook(store, receiver.url, { secretCheck: "of-another-key" });
  await succeed(store, "run-1");
  await look();
  expect(receiver.received).toEqual([]);
  expect((await store.listDeliveries("w-1"))[0]?.lastError).toContain("another key");
});

it("a run whose id is no header value is sent, too", async () => {
  const { store, receiver, look } = await world();
  const secret = await addWebhook(store, receiver.url);
  await succeed(store, "Übung 7/ä");
  await look();
  const message = lastOf(receiver);
  expect(message.id).toMatch(/^%C3%9Cbung%207%2F%C3%A4:\d+$/);
  expect(message.message.data.link).toBe("https://pawl.example.com/runs/%C3%9Cbung%207%2F%C3%A4");
  expect(isSignedWith(secret, message)).toBe(true);
});

it("a receiver that does not answer keeps no other one waiting", { timeout: 20_000 }, async () => {
  const { store, receiver, look } = await world();
  const slow = await startReceiver();
  const held: ServerResponse[] = [];
  slow.answerWith((response) => void held.push(response));
  await addWebhook(store, slow.url);
  await addWebhook(store, receiver.url, { webhookId: "w-2" });
  await succeed(store, "run-1");
  const looked = look();
  await expect.poll(() => receiver.received.length).toBe(1);
  expect((await store.listDeliveries("w-1"))[0]).toMatchObject({ state: "pending", lastStatus: null });
  const why = IS_FULL_TEST ? "The receiver did not answer within 10 s." : "could not be reached";
  if (!IS_FULL_TEST) for (const response of held) response.destroy();
  await looked;
  expect((await store.listDeliveries("w-1"))[0]?.lastError).toContain(why);
});

it("a server that runs sends by itself, with links to its own address", { timeout: 20_000 }, async () => {
  const [store, receiver] = [await openStore(":memory:"), await startReceiver()];
  const server = await servePawl({ store, port: 0, dashboard: false, allowPrivateWebhooks: true });
  onTestFinished(() => server.close());
  const secret = await addWebhook(store, receiver.url);
  await succeed(store, "run-1");
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
  expect(lastOf(receiver).message.data.link).toBe(`${server.url}/runs/run-1`);
  expect(isSignedWith(secret, lastOf(receiver))).toBe(true);
});

import { expect, it } from "vitest";
import { secretCheck } from "../../../src/core/webhook/webhook-signature.ts";
import { openStore } from "../../../src/index.ts";
import type { AccessScope } from "../../../src/server/principal.ts";
import { webhookHandlers } from "../../../src/server/webhooks/webhook-handlers.ts";
import { bearer, json, testServer } from "../test-server.ts";

const ACME: AccessScope = { pipelines: null, labels: { tenant: "acme" } };
const HOOK = { url: "https://example.com/hooks", events: ["wait.opened"] };

type Made = {
  readonly webhook: { readonly webhookId: string; readonly scope: AccessScope };
  readonly secret: string;
};

async function server() {
  const store = await openStore(":memory:");
  const { store: people, ...test } = testServer({ handlers: webhookHandlers(store) });
  const as = async (role: "operator" | "admin", scope?: AccessScope) =>
    bearer(await test.token(role, scope === undefined ? {} : { scope }));
  const send = (path: string, headers: Record<string, string>, method = "POST") =>
    test.request(path, { method, headers });
  return { ...test, store, people, as, send };
}

it("an admin adds a webhook, whose secret is shown once and stored nowhere", async () => {
  const { request, store, people, as } = await server();
  const admin = await as("admin");
  const made = await request("/v1/webhooks", json(HOOK, admin));
  expect(made.status).toBe(201);
  const { webhook, secret } = (await made.json()) as Made;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await store.getWebhook(webhook.webhookId)).toMatchObject({
    ...HOOK,
    content: false,
    createdBy: "admin",
    secretCheck: secretCheck(secret),
  });
  expect(JSON.stringify(await store.listWebhooks())).not.toContain(secret);
  const listed = await (await request("/v1/webhooks", { headers: admin })).text();
  expect(listed).toContain(webhook.webhookId);
  expect(listed).not.toContain(secret);
  expect(listed).not.toContain(secretCheck(secret));
  expect(people.audit.map(({ act, target }) => [act, target])).toContainEqual([
    "createWebhook",
    webhook.webhookId,
  ]);
});

it("nobody but an admin sees or changes webhooks", async () => {
  const { request, send, as } = await server();
  const operator = await as("operator");
  expect((await request("/v1/webhooks", { headers: operator })).status).toBe(403);
  expect((await request("/v1/webhooks", json(HOOK, operator))).status).toBe(403);
  for (const path of ["rotate", "test", "deliveries/x/send"])
    expect((await send(`/v1/webhooks/w/${path}`, operator)).status).toBe(403);
  expect((await send("/v1/webhooks/w", operator, "DELETE")).status).toBe(403);
});

it("an admin of a scope adds none that gets more, and finds none of others", async () => {
  const { request, send, as } = await server();
  const [root, acme] = [await as("admin"), await as("admin", ACME)];
  const wide = await request(
    "/v1/webhooks",
    json({ ...HOOK, scope: { pipelines: null, labels: null } }, acme),
  );
  expect(wide.status).toBe(403);
  const own = (await (await request("/v1/webhooks", json(HOOK, acme))).json()) as Made;
  expect(own.webhook.scope).toEqual(ACME);
  const other = (await (await request("/v1/webhooks", json(HOOK, root))).json()) as Made;
  const { items } = (await (await request("/v1/webhooks", { headers: acme })).json()) as {
    readonly items: readonly { readonly webhookId: string }[];
  };
  expect(items.map(({ webhookId }) => webhookId)).toEqual([own.webhook.webhookId]);
  const foreign = `/v1/webhooks/${other.webhook.webhookId}`;
  for (const path of [`${foreign}/rotate`, `${foreign}/test`, `${foreign}/deliveries/x/send`])
    expect((await send(path, acme)).status).toBe(404);
  expect((await request(`${foreign}/deliveries`, { headers: acme })).status).toBe(404);
  expect((await send(foreign, acme, "DELETE")).status).toBe(404);
  expect((await send(`/v1/webhooks/${own.webhook.webhookId}`, acme, "DELETE")).status).toBe(204);
});

it("an address that is none, or is not encrypted, is refused", async () => {
  const { request, as } = await server();
  const admin = await as("admin");
  const strange = ["example.com", "http://example.com/", "https://a:b@example.com/", "file:///etc/passwd"];
  const answers = strange.map((url) => request("/v1/webhooks", json({ ...HOOK, url }, admin)));
  expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([422, 422, 422, 422]);
  expect((await request("/v1/webhooks", json({ ...HOOK, events: ["run.started"] }, admin))).status).toBe(422);
});

it("a secret is replaced, a test is sent, and what was sent is sent again", async () => {
  const { request, send, store, as } = await server();
  const admin = await as("admin");
  const { webhook, secret } = (await (await request("/v1/webhooks", json(HOOK, admin))).json()) as Made;
  const path = `/v1/webhooks/${webhook.webhookId}`;
  const rotated = (await (await send(`${path}/rotate`, admin)).json()) as Made;
  expect(rotated.secret).not.toBe(secret);
  expect(await store.getWebhook(webhook.webhookId)).toMatchObject({ generation: 2 });
  const test = await send(`${path}/test`, admin);
  expect(test.status).toBe(202);
  const { deliveryId } = (await test.json()) as { readonly deliveryId: string };
  expect(await (await request(`${path}/deliveries`, { headers: admin })).json()).toMatchObject({
    items: [{ deliveryId, event: "webhook.test", state: "pending", attempts: 0 }],
  });
  const again = `${path}/deliveries/${encodeURIComponent(deliveryId)}/send`;
  expect((await send(again, admin)).status).toBe(202);
  expect((await send(`${path}/deliveries/none/send`, admin)).status).toBe(404);
  const [claimed] = await store.claimDeliveries(webhook.webhookId, 1);
  await store.endDelivery({
    webhookId: webhook.webhookId,
    deliveryId,
    attempt: claimed?.attempts ?? 0,
    outcome: { kind: "gone", status: 410 },
  });
  expect((await send(again, admin)).status).toBe(409);
  expect((await send(`${path}/test`, admin)).status).toBe(409);
});
